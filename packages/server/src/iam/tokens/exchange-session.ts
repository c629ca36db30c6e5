/** Decides which session the tokens of an exchange belong to, and records it. */
import type { WriteDb } from "../../db/store.ts";
import { isInRoot, newUid } from "../../lib/uid.ts";
import { EXCHANGED, insertLoginSession, type LoginOrigin, recordLoginSessionUse } from "../sessions/login-session.ts";
import type { Login } from "./login.ts";

/** A session that the exchange begins or uses. */
export interface PreparedSession {
  readonly uid: string;
  readonly isNew: boolean;
  readonly family: string;
  readonly login: Login;
  readonly origin: LoginOrigin;
}

/**
 * A person's sign-in begins a session, unless it belongs to one already. A login for a named identity begins none: its
 * tokens live for an hour at the most.
 */
export function sessionOf(login: Login, origin: LoginOrigin = EXCHANGED): PreparedSession | undefined {
  const { loginSession, kind, identityUid } = login;
  if (loginSession !== undefined) return { uid: loginSession, isNew: false, family: loginSession, login, origin };
  const isOwnIdentity = kind === "user" || (kind === "assumed" && isInRoot(identityUid));
  if (!isOwnIdentity) return undefined;
  const uid = newUid(identityUid);
  return { uid, isNew: true, family: uid, login, origin };
}

export function recordSession(db: WriteDb, { uid, isNew, family, login, origin }: PreparedSession, expiry: Date, now: Date): Promise<void> {
  if (isNew) return insertLoginSession(db, { uid, family, login, origin, expiry, now });
  return recordLoginSessionUse(db, { uid, client: origin, expiry, now });
}
