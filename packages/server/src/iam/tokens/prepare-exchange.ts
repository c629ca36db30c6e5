/** Decides exchanges of tokens: network and cryptography, but no writes. `record-exchange.ts` writes them. */
import type { ReadDb } from "../../db/store.ts";
import { unauthenticated } from "../../lib/errors.ts";
import { newUid } from "../../lib/uid.ts";
import type { LastSeen } from "../identities/identity-record.ts";
import { EXCHANGED } from "../sessions/login-session.ts";
import { createBrowserSession, findBrowserSession } from "./browser-session.ts";
import type { BrowserCookie, ExchangeRequest, LoginRequest, RefreshRequest } from "./exchange-request.ts";
import { sessionOf } from "./exchange-session.ts";
import { type IssueParts, issueToken, requestedAudiences } from "./issue-token.ts";
import type { Login, Logins } from "./login.ts";
import { type Narrowing, NOT_NARROWED, parseNarrowing } from "./narrowing.ts";
import { type PreparedExchange, type RevocationParts, reusedTokenError, revokeReusedFamily } from "./record-exchange.ts";
import { createRefreshToken, findRefreshToken, grantFromRow } from "./refresh-token.ts";

export interface ExchangeParts extends IssueParts, RevocationParts {
  readonly logins: Logins;
}

export async function prepareExchange(request: ExchangeRequest, now: Date, db: ReadDb, parts: ExchangeParts): Promise<PreparedExchange> {
  const proof = requireBearer(request);
  // Reject invalid requests before an issuer is contacted.
  requestedAudiences(request, parts);
  const wanted = parseNarrowing(request.scopes, request.cap);
  const { identity, identityProvider = "" } = request;
  const login = await parts.logins.decide(proof, { identity, identityProvider }, now, db);
  return prepare(login, { ...request, wantsRefreshToken: true, wanted }, now, parts);
}

export async function prepareLogin(
  login: Login,
  request: LoginRequest,
  { now, db }: { readonly now: Date; readonly db: ReadDb },
  parts: ExchangeParts,
): Promise<PreparedExchange> {
  const wanted = parseNarrowing(request.scopes, request.cap);
  return prepare(await parts.logins.assume(login, request.identity, db), { ...request, wanted }, now, parts);
}

export async function prepareRefresh(request: RefreshRequest, now: Date, db: ReadDb, parts: ExchangeParts): Promise<PreparedExchange> {
  const row = await findRefreshToken(db, requireBearer(request), now);
  const { identity_uid: identityUid, family } = row;
  if (row.spent_time !== null) {
    await revokeReusedFamily(identityUid, family, parts);
    throw reusedTokenError();
  }
  const audience = requestedAudiences(request, parts);
  const narrowing = parseNarrowing(request.scopes, request.cap);
  const grant = grantFromRow(row);
  const login = await parts.logins.resume(identityUid, grant, db);
  // A refresh token without a session begins one.
  const loginSession = grant.loginSession ?? newUid(identityUid);
  const isNew = grant.loginSession === undefined;
  const session = { uid: loginSession, isNew, family, login, origin: request.origin ?? EXCHANGED };
  const { token } = await issueToken(login, { audience, narrowing, loginSession }, now, parts);
  const refresh = createRefreshToken({ identityUid, audience, grant: { ...grant, loginSession, auth: login.auth }, now, family });
  return { identityUid, token, seen: seenFromLogin(login, now), refresh, session, spent: { hash: row.token_hash, family } };
}

/** @returns undefined if the session has ended */
export async function prepareSession(
  { secret, client }: BrowserCookie,
  now: Date,
  db: ReadDb,
  parts: ExchangeParts,
): Promise<PreparedExchange | undefined> {
  const row = await findBrowserSession(db, secret, now);
  if (row === undefined) return undefined;
  const { identity_uid: identityUid, family, token_hash: sessionHash } = row;
  const login = await parts.logins.resume(identityUid, grantFromRow(row), db);
  const session = sessionOf(login, { kind: "console", client: "", ...client });
  const wish = { audience: [parts.defaultAudience], narrowing: NOT_NARROWED, loginSession: session?.uid };
  const { token } = await issueToken(login, wish, now, parts);
  const seen = seenFromLogin(login, now);
  return { identityUid, token, seen, refresh: undefined, session: session && { ...session, family }, spent: undefined, sessionHash };
}

type PrepareRequest = Omit<RefreshRequest, "bearer"> &
  Pick<LoginRequest, "wantsRefreshToken" | "isForBrowser"> & { readonly wanted: Narrowing };

async function prepare(login: Login, request: PrepareRequest, now: Date, parts: ExchangeParts): Promise<PreparedExchange> {
  const { identityUid } = login;
  const audience = requestedAudiences(request, parts);
  const session = sessionOf(login, request.origin);
  const loginSession = session?.uid;
  const { token, narrowing } = await issueToken(login, { audience, narrowing: request.wanted, loginSession }, now, parts);
  const grant = { profile: login.profile, narrowing, provider: login.session?.provider, loginSession, auth: login.auth };
  const needsRefresh = request.wantsRefreshToken && mayRefresh(login);
  const family = session?.family ?? newUid(identityUid);
  const createToken = request.isForBrowser ? createBrowserSession : createRefreshToken;
  const refresh = needsRefresh ? createToken({ identityUid, audience, grant, now, family }) : undefined;
  return { identityUid, token, seen: seenFromLogin(login, now), refresh, session, spent: undefined, loginToken: login.loginToken };
}

function requireBearer({ bearer }: RefreshRequest): string {
  if (bearer === undefined || bearer === "") throw unauthenticated("token exchange needs a bearer token");
  return bearer;
}

/**
 * Only a person's own login gets a refresh token, and only without mapped groups: their rights end with the session.
 */
function mayRefresh({ kind, session }: Login): boolean {
  return kind === "user" && (session === undefined || session.mappings.length + session.directoryMappings.length === 0);
}

/** A renewed login says nothing new about the email address, and may be for another identity. */
function seenFromLogin({ kind, profile: { email, emailVerified } }: Login, at: Date): LastSeen {
  return { at, email: kind === "renewed" ? undefined : email, emailVerified };
}
