/** Records a prepared exchange in the caller's transaction. */
import { appendAudit } from "../../audit/append.ts";
import type { Store, WriteDb } from "../../db/store.ts";
import { unauthenticated } from "../../lib/errors.ts";
import type { Log } from "../../lib/log.ts";
import { rootOf } from "../../lib/uid.ts";
import { type LastSeen, recordLastSeen } from "../identities/identity-record.ts";
import { assertSessionLasts } from "./browser-session.ts";
import { type PreparedSession, recordSession } from "./exchange-session.ts";
import type { IssuedToken } from "./issue-token.ts";
import { insertRefreshToken, type NewRefreshToken, revokeFamily, spendRefreshToken } from "./refresh-token.ts";
import { type SpendableToken, spendLoginToken } from "./spent-login-token.ts";

/** A decided exchange; `recordExchange` writes it. */
export interface PreparedExchange {
  readonly identityUid: string;
  readonly token: IssuedToken;
  readonly seen: LastSeen;
  readonly refresh: NewRefreshToken | undefined;
  /** The session that the tokens belong to. */
  readonly session: PreparedSession | undefined;
  /** The refresh token that this exchange spends. */
  readonly spent: { readonly hash: string; readonly family: string } | undefined;
  /** The login token that this exchange spends. */
  readonly loginToken?: SpendableToken | undefined;
  /** The stored session that the token is issued for. */
  readonly sessionHash?: string;
}

export interface ExchangedTokens {
  readonly token: IssuedToken;
  readonly refreshToken: IssuedToken | undefined;
}

export interface RevocationParts {
  readonly store: Store;
  readonly log: Log;
}

/** @throws UNAUTHENTICATED if the identity, its session or a token that the exchange spends is gone */
export async function recordExchange(
  db: WriteDb,
  { identityUid, token, seen, refresh, session, spent, loginToken, sessionHash }: PreparedExchange,
  parts: RevocationParts,
): Promise<ExchangedTokens> {
  // This comes first: it locks the row that `revokeFamily` waits for.
  if (!(await recordLastSeen(db, identityUid, seen))) throw unauthenticated("the identity no longer exists");
  if (sessionHash !== undefined) await assertSessionLasts(db, sessionHash);
  if (loginToken !== undefined) await spendLoginToken(db, loginToken, seen.at);
  if (spent !== undefined && !(await spendRefreshToken(db, spent.hash, seen.at))) {
    // The token was used twice at the same time. This transaction is about to be rolled back, so the family is
    // revoked in another.
    revokeReusedFamily(identityUid, spent.family, parts).catch((error: unknown) =>
      parts.log.error({ err: error }, "cannot revoke a family of refresh tokens"),
    );
    throw reusedTokenError();
  }
  if (session !== undefined) await recordSession(db, session, refresh?.expiry ?? token.expiry, seen.at);
  if (refresh !== undefined) await insertRefreshToken(db, refresh);
  await auditToken(db, { identityUid, session }, seen.at);
  return { token, refreshToken: refresh && { token: refresh.token, expiry: refresh.expiry } };
}

/** Revokes at once, in a transaction of its own. */
export async function revokeReusedFamily(identityUid: string, family: string, { store, log }: RevocationParts): Promise<void> {
  log.warn({ family }, "a refresh token was reused; revoking its family");
  await store.transaction((db) => revokeFamily(db, identityUid, family));
}

export function reusedTokenError(): Error {
  return unauthenticated("the refresh token was already used; log in again");
}

/**
 * An entry for exchanges that are not calls, such as sign-ins in a browser. A call has an entry of its own, which names the
 * identity.
 */
async function auditToken(db: WriteDb, { identityUid, session }: Pick<PreparedExchange, "identityUid" | "session">, now: Date) {
  db.audit.actor = identityUid;
  if (db.audit.isCovered) return;
  const { kind = "exchange", client = "", remoteAddress } = session?.origin ?? {};
  await appendAudit(db, {
    action: session?.isNew === true ? "sign-in" : "token.issued",
    actor: identityUid,
    onBehalfOf: session?.login.profile.actor,
    remoteAddress,
    client,
    protocol: kind,
    target: session?.uid ?? identityUid,
    organization: session?.login.session === undefined ? rootOf(identityUid) : rootOf(session.login.session.provider),
    outcome: "OK",
    now,
  });
}
