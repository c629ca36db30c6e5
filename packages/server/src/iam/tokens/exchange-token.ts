/** Token exchange: proofs of all kinds in, short-lived access tokens out. Who a proof stands for is login.ts, what is left of rights narrowing.ts; the wire is the service's. */
import type { ReadDb, Store, WriteDb } from "../../db/store.ts";
import { invalidArgument, permissionDenied, unauthenticated } from "../../lib/errors.ts";
import type { Log } from "../../lib/log.ts";
import type { Grants } from "../grants/grants.ts";
import { recordSeen, type Seen } from "../identities/identity-record.ts";
import { type AccessTokens, MAX_LIFETIME_SECONDS } from "./access-token.ts";
import type { AudienceList } from "./audience.ts";
import type { Login, Logins } from "./login.ts";
import { type Narrowing, NOT_NARROWED, narrow, parseNarrowing } from "./narrowing.ts";
import {
  findRefreshToken,
  grantOf,
  insertRefreshToken,
  type NewRefreshToken,
  newRefreshToken,
  revokeFamily,
  spendRefreshToken,
} from "./refresh-token.ts";

export interface RefreshRequest {
  /** The text after `Bearer`; undefined where there was none. */
  readonly bearer: string | undefined;
  readonly aud: readonly string[];
  /** `scope` and `scopes` of the request together. */
  readonly scopes: readonly string[];
  /** String names. */
  readonly cap: readonly string[];
}

export interface ExchangeRequest extends RefreshRequest {
  /** Uid, or the empty string. */
  readonly identity: string;
  /** Uid of the identity provider whose token the bearer is; may be empty. */
  readonly identityProvider?: string;
}

/** What a person who has just logged in asks for. */
export interface LoginRequest extends Omit<RefreshRequest, "bearer"> {
  /** Uid of an identity to assume, or the empty string. */
  readonly identity: string;
  readonly wantsRefreshToken: boolean;
}

/** Everything but the writing. */
export interface PreparedExchange {
  readonly identityUid: string;
  readonly token: IssuedToken;
  readonly seen: Seen;
  readonly refresh: NewRefreshToken | undefined;
  /** The refresh token that is given in exchange. */
  readonly spent: { readonly hash: string; readonly family: string } | undefined;
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
  /** Network, cryptography and the decision. Writes nothing, except that a refresh token which comes back spent ends its family at once. */
  prepareExchange(request: ExchangeRequest, now: Date, db: ReadDb): Promise<PreparedExchange>;
  /** The same for a login that is decided already. */
  prepareLogin(login: Login, request: LoginRequest, now: Date, db: ReadDb): Promise<PreparedExchange>;
  prepareRefresh(request: RefreshRequest, now: Date, db: ReadDb): Promise<PreparedExchange>;
  /** The writing, for both. The tokens are good only once the transaction is durable. */
  recordExchange(db: WriteDb, prepared: PreparedExchange): Promise<ExchangedTokens>;
}

export interface TokenExchangeOptions {
  readonly store: Store;
  readonly log: Log;
  readonly accessTokens: AccessTokens;
  readonly grants: Grants;
  readonly logins: Logins;
  /** Audiences that tokens are made for. */
  readonly issuable: AudienceList;
  readonly defaultAudience: string;
}

const MAX_AUDIENCES = 8;

export function createTokenExchange(options: TokenExchangeOptions): TokenExchange {
  const { store, log, accessTokens, grants, logins } = options;

  async function issue(
    login: Login,
    audience: readonly string[],
    wanted: Narrowing,
    now: Date,
  ): Promise<{ token: IssuedToken; narrowing: Narrowing }> {
    assertAudiences(audience, login);
    const { identityUid: uid, session } = login;
    const { exists, access } = await grants.loadSession({ uid, ...NOT_NARROWED, session });
    if (!exists) throw unauthenticated("the identity no longer exists, or was deactivated");
    const narrowing = narrow(access, login.inherited, wanted);
    const left = access.narrowed(narrowing.scopes, narrowing.capabilities, narrowing.within);
    const lifetimeSeconds = lifetimeOf(login, now);
    const token = await accessTokens.mint({ uid, audience, access: left, ...login.profile, ...narrowing, session, lifetimeSeconds }, now);
    return { token, narrowing };
  }

  async function prepare(
    login: Login,
    request: Omit<RefreshRequest, "bearer">,
    wanted: Narrowing,
    wantsRefreshToken: boolean,
    now: Date,
  ): Promise<PreparedExchange> {
    const audience = audiencesOf(request, options);
    const { token, narrowing } = await issue(login, audience, wanted, now);
    const grant = { profile: login.profile, narrowing, provider: login.session?.provider };
    const refresh = wantsRefreshToken && mayRefresh(login) ? newRefreshToken(login.identityUid, audience, grant, now) : undefined;
    return { identityUid: login.identityUid, token, seen: seenOf(login, now), refresh, spent: undefined };
  }

  async function endFamily(identityUid: string, family: string): Promise<void> {
    log.warn({ family }, "a spent refresh token came back; its family is revoked");
    await store.transaction((db) => revokeFamily(db, identityUid, family));
  }

  return {
    async prepareExchange(request, now, db) {
      const proof = bearerOf(request);
      // What cannot be had anyway must not cost an issuer a request.
      audiencesOf(request, options);
      const wanted = parseNarrowing(request.scopes, request.cap);
      const { identity, identityProvider = "" } = request;
      return prepare(await logins.decide(proof, { identity, identityProvider }, now, db), request, wanted, true, now);
    },

    async prepareLogin(login, request, now, db) {
      const wanted = parseNarrowing(request.scopes, request.cap);
      return prepare(await logins.assume(login, request.identity, db), request, wanted, request.wantsRefreshToken, now);
    },

    async prepareRefresh(request, now, db) {
      const row = await findRefreshToken(db, bearerOf(request), now);
      if (row.spent_time !== null) {
        await endFamily(row.identity_uid, row.family);
        throw reused();
      }
      const audience = audiencesOf(request, options);
      const wanted = parseNarrowing(request.scopes, request.cap);
      const grant = grantOf(row);
      const login = await logins.resume(row.identity_uid, grant, db);
      const { token } = await issue(login, audience, wanted, now);
      const refresh = newRefreshToken(row.identity_uid, audience, grant, now, row.family);
      return {
        identityUid: row.identity_uid,
        token,
        seen: seenOf(login, now),
        refresh,
        spent: { hash: row.token_hash, family: row.family },
      };
    },

    async recordExchange(db, { identityUid, token, seen, refresh, spent }) {
      // First, since it locks the row that keeps this apart from the end of the family.
      if (!(await recordSeen(db, identityUid, seen))) throw unauthenticated("the identity no longer exists");
      if (spent !== undefined && !(await spendRefreshToken(db, spent.hash, seen.at))) {
        // Two came with it at once. This transaction is about to be undone, so the family ends in another.
        endFamily(identityUid, spent.family).catch((error: unknown) =>
          log.error({ err: error }, "a family of refresh tokens could not be revoked"),
        );
        throw reused();
      }
      if (refresh !== undefined) await insertRefreshToken(db, refresh);
      return { token, refreshToken: refresh && { token: refresh.token, expiry: refresh.expiry } };
    },
  };
}

function bearerOf({ bearer }: RefreshRequest): string {
  if (bearer === undefined || bearer === "") throw unauthenticated("a token is needed to exchange it");
  return bearer;
}

/** @throws INVALID_ARGUMENT */
function audiencesOf({ aud }: Pick<RefreshRequest, "aud">, { issuable, defaultAudience }: TokenExchangeOptions): readonly string[] {
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
    throw permissionDenied(`the token is not for ${JSON.stringify(other)}, so it cannot be exchanged for one that is`);
}

function lifetimeOf({ notAfter }: Login, now: Date): number {
  if (notAfter === undefined) return MAX_LIFETIME_SECONDS;
  const left = Math.floor(notAfter.getTime() / 1000) - Math.floor(now.getTime() / 1000);
  if (left <= 0) throw unauthenticated("the token has expired");
  return Math.min(left, MAX_LIFETIME_SECONDS);
}

/** Only a person's own login, and none that gives more than the bindings: rights of mapped groups end with the session. */
function mayRefresh({ kind, session }: Login): boolean {
  return kind === "user" && (session === undefined || session.mappings.length + session.directoryMappings.length === 0);
}

/** A token of ours says nothing new about the address of whom it stands for, and it may stand for another. */
function seenOf({ kind, profile: { email, emailVerified } }: Login, at: Date): Seen {
  return { at, email: kind === "again" ? undefined : email, emailVerified };
}

function reused(): Error {
  return unauthenticated("the refresh token was used before; log in again");
}
