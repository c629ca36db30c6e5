/**
 * Exchanges proofs (tokens of other issuers, Holt's own tokens, AWS proofs, refresh tokens) for short-lived access
 * tokens. login.ts decides which identity a proof stands for, narrowing.ts which rights the new token keeps. The
 * service in api/ speaks the wire format.
 */
import { appendAudit } from "../../audit/append.ts";
import type { ReadDb, Store, WriteDb } from "../../db/store.ts";
import { invalidArgument, permissionDenied, unauthenticated } from "../../lib/errors.ts";
import type { Log } from "../../lib/log.ts";
import { isInRoot, newUid, rootOf } from "../../lib/uid.ts";
import type { Grants } from "../grants/grants.ts";
import { type LastSeen, recordLastSeen } from "../identities/identity-record.ts";
import {
  EXCHANGED,
  endedSession,
  insertLoginSession,
  type LoginClient,
  type LoginOrigin,
  recordLoginSessionUse,
} from "../sessions/login-session.ts";
import { type AccessTokens, MAX_LIFETIME_SECONDS } from "./access-token.ts";
import type { AudienceList } from "./audience.ts";
import { assertSessionLasts, createBrowserSession, findBrowserSession } from "./browser-session.ts";
import type { Login, Logins } from "./login.ts";
import { type Narrowing, NOT_NARROWED, narrow, parseNarrowing } from "./narrowing.ts";
import {
  createRefreshToken,
  findRefreshToken,
  grantFromRow,
  insertRefreshToken,
  type NewRefreshToken,
  revokeFamily,
  spendRefreshToken,
} from "./refresh-token.ts";
import { type SpendableToken, spendLoginToken } from "./spent-login-token.ts";

export interface RefreshRequest {
  /** The token after `Bearer`; undefined if there was none. */
  readonly bearer: string | undefined;
  readonly aud: readonly string[];
  /** The request's `scope` and `scopes` together. */
  readonly scopes: readonly string[];
  /** Names of capabilities. */
  readonly cap: readonly string[];
  /** Client and address of the request, stored in the session. */
  readonly origin?: LoginOrigin;
}

export interface ExchangeRequest extends RefreshRequest {
  /** Uid of the identity to assume, or the empty string. */
  readonly identity: string;
  /** Uid of the identity provider that issued the token; may be empty. */
  readonly identityProvider?: string;
}

/** Request of a person who has just logged in. */
export interface LoginRequest extends Omit<RefreshRequest, "bearer"> {
  /** Uid of an identity to assume, or the empty string. */
  readonly identity: string;
  readonly wantsRefreshToken: boolean;
  /** Whether the refresh token is the secret of a browser's session instead. */
  readonly isForBrowser?: boolean;
}

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

/** A browser that shows the secret of its session. */
export interface BrowserCookie {
  readonly secret: string;
  readonly client: LoginClient;
}

/** A session that the exchange begins or uses. */
export interface PreparedSession {
  readonly uid: string;
  readonly isNew: boolean;
  readonly family: string;
  readonly login: Login;
  readonly origin: LoginOrigin;
}

export interface IssuedToken {
  readonly token: string;
  readonly expiry: Date;
}

export interface ExchangedTokens {
  readonly token: IssuedToken;
  readonly refreshToken: IssuedToken | undefined;
}

export interface TokenExchange {
  /**
   * Decides the exchange: network and cryptography, but no writes. The exception is a reused refresh token: its family
   * is revoked at once.
   */
  prepareExchange(request: ExchangeRequest, now: Date, db: ReadDb): Promise<PreparedExchange>;
  /** As `prepareExchange`, for a login that is already decided. */
  prepareLogin(login: Login, request: LoginRequest, now: Date, db: ReadDb): Promise<PreparedExchange>;
  prepareRefresh(request: RefreshRequest, now: Date, db: ReadDb): Promise<PreparedExchange>;
  /**
   * As `prepareRefresh`, for the session of a browser, which stays the same.
   * @returns undefined if the session has ended
   */
  prepareSession(cookie: BrowserCookie, now: Date, db: ReadDb): Promise<PreparedExchange | undefined>;
  /** Writes a prepared exchange. The tokens are valid once the transaction is durable. */
  recordExchange(db: WriteDb, prepared: PreparedExchange): Promise<ExchangedTokens>;
}

export interface TokenExchangeOptions {
  readonly store: Store;
  readonly log: Log;
  readonly accessTokens: AccessTokens;
  readonly grants: Grants;
  readonly logins: Logins;
  /** Audiences that Holt issues tokens for. */
  readonly issuable: AudienceList;
  readonly defaultAudience: string;
}

const MAX_AUDIENCES = 8;

export function createTokenExchange(options: TokenExchangeOptions): TokenExchange {
  const { store, log, accessTokens, grants, logins, defaultAudience } = options;

  async function issue(
    login: Login,
    audience: readonly string[],
    { wanted, loginSession }: { readonly wanted: Narrowing; readonly loginSession: string | undefined },
    now: Date,
  ): Promise<{ token: IssuedToken; narrowing: Narrowing }> {
    assertAudiences(audience, login);
    const { identityUid: uid, session, auth } = login;
    const present = { session, registered: login.registered, loginSession: login.loginSession, auth };
    const { exists, access, registered, isEnded } = await grants.loadSession({ uid, ...NOT_NARROWED, ...present });
    if (isEnded) throw endedSession();
    if (!exists) throw unauthenticated("the identity no longer exists, or was deactivated");
    const narrowing = narrow(access, login.inherited, wanted);
    const left = access.narrowed(narrowing.scopes, narrowing.capabilities, narrowing.within);
    const lifetimeSeconds = remainingLifetimeSeconds(login, now);
    const content = {
      uid,
      audience,
      access: left,
      ...login.profile,
      ...narrowing,
      session,
      registered,
      loginSession,
      auth,
      lifetimeSeconds,
    };
    const token = await accessTokens.mint(content, now);
    return { token, narrowing };
  }

  async function prepare(
    login: Login,
    request: Omit<RefreshRequest, "bearer"> & Pick<LoginRequest, "wantsRefreshToken" | "isForBrowser">,
    wanted: Narrowing,
    now: Date,
  ): Promise<PreparedExchange> {
    const { identityUid } = login;
    const audience = requestedAudiences(request, options);
    const session = sessionOf(login, request.origin);
    const loginSession = session?.uid;
    const { token, narrowing } = await issue(login, audience, { wanted, loginSession }, now);
    const grant = { profile: login.profile, narrowing, provider: login.session?.provider, loginSession, auth: login.auth };
    const needsRefresh = request.wantsRefreshToken && mayRefresh(login);
    const family = session?.family ?? newUid(identityUid);
    const createToken = request.isForBrowser ? createBrowserSession : createRefreshToken;
    const refresh = needsRefresh ? createToken({ identityUid, audience, grant, now, family }) : undefined;
    return { identityUid, token, seen: seenFromLogin(login, now), refresh, session, spent: undefined, loginToken: login.loginToken };
  }

  async function revokeReusedFamily(identityUid: string, family: string): Promise<void> {
    log.warn({ family }, "a refresh token was reused; revoking its family");
    await store.transaction((db) => revokeFamily(db, identityUid, family));
  }

  return {
    async prepareExchange(request, now, db) {
      const proof = requireBearer(request);
      // Reject invalid requests before an issuer is contacted.
      requestedAudiences(request, options);
      const wanted = parseNarrowing(request.scopes, request.cap);
      const { identity, identityProvider = "" } = request;
      const login = await logins.decide(proof, { identity, identityProvider }, now, db);
      return prepare(login, { ...request, wantsRefreshToken: true }, wanted, now);
    },

    async prepareLogin(login, request, now, db) {
      const wanted = parseNarrowing(request.scopes, request.cap);
      return prepare(await logins.assume(login, request.identity, db), request, wanted, now);
    },

    async prepareRefresh(request, now, db) {
      const row = await findRefreshToken(db, requireBearer(request), now);
      if (row.spent_time !== null) {
        await revokeReusedFamily(row.identity_uid, row.family);
        throw reusedTokenError();
      }
      const audience = requestedAudiences(request, options);
      const wanted = parseNarrowing(request.scopes, request.cap);
      const grant = grantFromRow(row);
      const login = await logins.resume(row.identity_uid, grant, db);
      const { identity_uid: identityUid, family } = row;
      // A refresh token without a session begins one.
      const loginSession = grant.loginSession ?? newUid(identityUid);
      const isNew = grant.loginSession === undefined;
      const session = { uid: loginSession, isNew, family, login, origin: request.origin ?? EXCHANGED };
      const { token } = await issue(login, audience, { wanted, loginSession }, now);
      const refresh = createRefreshToken({ identityUid, audience, grant: { ...grant, loginSession, auth: login.auth }, now, family });
      return { identityUid, token, seen: seenFromLogin(login, now), refresh, session, spent: { hash: row.token_hash, family } };
    },

    async prepareSession({ secret, client }, now, db) {
      const row = await findBrowserSession(db, secret, now);
      if (row === undefined) return undefined;
      const { identity_uid: identityUid, family, token_hash: sessionHash } = row;
      const login = await logins.resume(identityUid, grantFromRow(row), db);
      const session = sessionOf(login, { kind: "console", client: "", ...client });
      const { token } = await issue(login, [defaultAudience], { wanted: NOT_NARROWED, loginSession: session?.uid }, now);
      const seen = seenFromLogin(login, now);
      return { identityUid, token, seen, refresh: undefined, session: session && { ...session, family }, spent: undefined, sessionHash };
    },

    async recordExchange(db, { identityUid, token, seen, refresh, session, spent, loginToken, sessionHash }) {
      // This comes first: it locks the row that `revokeFamily` waits for.
      if (!(await recordLastSeen(db, identityUid, seen))) throw unauthenticated("the identity no longer exists");
      if (sessionHash !== undefined) await assertSessionLasts(db, sessionHash);
      if (loginToken !== undefined) await spendLoginToken(db, loginToken, seen.at);
      if (spent !== undefined && !(await spendRefreshToken(db, spent.hash, seen.at))) {
        // The token was used twice at the same time. This transaction is about to be rolled back, so the family is
        // revoked in another.
        revokeReusedFamily(identityUid, spent.family).catch((error: unknown) =>
          log.error({ err: error }, "cannot revoke a family of refresh tokens"),
        );
        throw reusedTokenError();
      }
      if (session !== undefined) await recordSession(db, session, refresh?.expiry ?? token.expiry, seen.at);
      if (refresh !== undefined) await insertRefreshToken(db, refresh);
      await auditToken(db, { identityUid, session }, seen.at);
      return { token, refreshToken: refresh && { token: refresh.token, expiry: refresh.expiry } };
    },
  };
}

/** Of a call, its own entry names the identity. Sign-ins in a browser and other protocols get an entry here. */
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

/**
 * A person's sign-in begins a session, unless it belongs to one already. A login for a named identity begins none: its
 * tokens live for an hour at the most.
 */
function sessionOf(login: Login, origin: LoginOrigin = EXCHANGED): PreparedSession | undefined {
  const { loginSession, kind, identityUid } = login;
  if (loginSession !== undefined) return { uid: loginSession, isNew: false, family: loginSession, login, origin };
  const isOwnIdentity = kind === "user" || (kind === "assumed" && isInRoot(identityUid));
  if (!isOwnIdentity) return undefined;
  const uid = newUid(identityUid);
  return { uid, isNew: true, family: uid, login, origin };
}

function recordSession(db: WriteDb, { uid, isNew, family, login, origin }: PreparedSession, expiry: Date, now: Date): Promise<void> {
  if (isNew) return insertLoginSession(db, { uid, family, login, origin, expiry, now });
  return recordLoginSessionUse(db, { uid, client: origin, expiry, now });
}

function requireBearer({ bearer }: RefreshRequest): string {
  if (bearer === undefined || bearer === "") throw unauthenticated("token exchange needs a bearer token");
  return bearer;
}

/** @throws INVALID_ARGUMENT */
function requestedAudiences({ aud }: Pick<RefreshRequest, "aud">, { issuable, defaultAudience }: TokenExchangeOptions): readonly string[] {
  const wanted = [...new Set(aud.filter((audience) => audience !== ""))];
  if (wanted.length > MAX_AUDIENCES) throw invalidArgument("aud", `must be at most ${MAX_AUDIENCES} audiences`);
  const unknown = wanted.find((audience) => !issuable.has(audience));
  if (unknown !== undefined) throw invalidArgument("aud", `${JSON.stringify(unknown)} is not an audience of this server`);
  return wanted.length === 0 ? [defaultAudience] : wanted;
}

/** @throws PERMISSION_DENIED */
function assertAudiences(wanted: readonly string[], { audiences }: Login): void {
  const other = audiences && wanted.find((audience) => !audiences.has(audience));
  if (other !== undefined)
    throw permissionDenied(`the token lacks the audience ${JSON.stringify(other)}, so it cannot be exchanged for a token with it`);
}

function remainingLifetimeSeconds({ notAfter }: Login, now: Date): number {
  if (notAfter === undefined) return MAX_LIFETIME_SECONDS;
  const left = Math.floor(notAfter.getTime() / 1000) - Math.floor(now.getTime() / 1000);
  if (left <= 0) throw unauthenticated("the token has expired");
  return Math.min(left, MAX_LIFETIME_SECONDS);
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

function reusedTokenError(): Error {
  return unauthenticated("the refresh token was already used; log in again");
}
