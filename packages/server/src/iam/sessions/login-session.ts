/**
 * Stores the sessions in which people are signed in. A session begins with a sign-in and covers everything that follows
 * from it: access tokens, login tokens and one family of refresh tokens. Ending it voids all of them.
 */
import { prepare } from "../../db/prepared.ts";
import type { ReadDb, WriteDb } from "../../db/store.ts";
import { unauthenticated } from "../../lib/errors.ts";
import { lockIdentity } from "../identities/identity-record.ts";
import type { LoginSessionTable } from "../tables.ts";
import type { Login } from "../tokens/login.ts";
import { assertLoginLasts } from "./login-lasts.ts";

/** The sender of a request that signs in or renews a sign-in. */
export interface LoginClient {
  readonly remoteAddress: string | undefined;
  readonly userAgent: string | undefined;
}

/** Method and client of a person's sign-in. */
export interface LoginOrigin extends LoginClient {
  readonly kind: LoginSessionTable["kind"];
  /** The name that the program or device gives itself; empty for none. */
  readonly client: string;
}

const UNKNOWN_CLIENT: LoginClient = { remoteAddress: undefined, userAgent: undefined };

/** A sign-in without further details, such as by the API. */
export const EXCHANGED: LoginOrigin = { kind: "exchange", client: "", ...UNKNOWN_CLIENT };

/** A session that begins. */
export interface NewLoginSession {
  readonly uid: string;
  readonly family: string;
  readonly login: Pick<Login, "identityUid" | "profile" | "session" | "inherited" | "auth" | "accountVersion">;
  readonly origin: LoginOrigin;
  readonly expiry: Date;
  readonly now: Date;
}

const MAX_TEXT_LENGTH = 200;

/**
 * Also deletes expired sessions of the person. Waits for what ends sessions of the person at the same moment.
 * @throws UNAUTHENTICATED if the account or its links have changed since the login began
 */
export async function insertLoginSession(db: WriteDb, { uid, family, login, origin, expiry, now }: NewLoginSession): Promise<void> {
  const time = now.toISOString();
  await lockIdentity(db, login.identityUid);
  await assertLoginLasts(db, login);
  await db.deleteFrom("login_session").where("identity_uid", "=", login.identityUid).where("expire_time", "<=", time).execute();
  const row = {
    uid,
    identity_uid: login.identityUid,
    family,
    kind: origin.kind,
    client: shorten(origin.client),
    issuer: login.profile.actor.iss ?? "",
    provider: login.session?.provider ?? "",
    within: login.inherited.within ?? "",
    methods: JSON.stringify(login.auth?.methods ?? []),
    create_time: time,
    last_use_time: time,
    expire_time: expiry.toISOString(),
    ...clientColumns(origin),
  };
  await db.insertInto("login_session").values(row).execute();
}

export interface LoginSessionUse {
  readonly uid: string;
  readonly client: LoginClient;
  /** The expiry of the tokens that this use issues. */
  readonly expiry: Date;
  readonly now: Date;
}

/** @throws UNAUTHENTICATED if the session was ended */
export async function recordLoginSessionUse(db: WriteDb, { uid, client, expiry, now }: LoginSessionUse): Promise<void> {
  const row = await db.selectFrom("login_session").select("expire_time").where("uid", "=", uid).executeTakeFirst();
  const latest = [row?.expire_time ?? "", expiry.toISOString()].toSorted().at(-1) ?? "";
  const { numUpdatedRows } = await db
    .updateTable("login_session")
    .set({ last_use_time: now.toISOString(), expire_time: latest, ...(client.remoteAddress !== undefined && clientColumns(client)) })
    .where("uid", "=", uid)
    .executeTakeFirst();
  if (numUpdatedRows === 0n) throw endedSession();
}

/** Each call of a person runs this. */
const sessionByUid = prepare<{ uid: string }, { uid: string }>((db, param) =>
  db.selectFrom("login_session").select("uid").where("uid", "=", param("uid")).compile(),
);

export async function hasLoginSession(db: ReadDb, uid: string): Promise<boolean> {
  return (await sessionByUid.first(db, { uid })) !== undefined;
}

export function endedSession(): Error {
  return unauthenticated("the session was ended; sign in again");
}

function clientColumns({ remoteAddress, userAgent }: LoginClient) {
  return { remote_address: shorten(remoteAddress ?? ""), user_agent: shorten(userAgent ?? "") };
}

function shorten(text: string): string {
  return text
    .toWellFormed()
    .replace(/\p{Cc}/gu, " ")
    .slice(0, MAX_TEXT_LENGTH)
    .toWellFormed();
}
