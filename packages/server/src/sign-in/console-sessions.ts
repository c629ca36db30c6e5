/** Begins, renews and ends sessions of browsers with the console. */
import type { Store } from "../db/store.ts";
import type { Secrets } from "../iam/secrets/secrets.ts";
import type { LoginClient } from "../iam/sessions/login-session.ts";
import { endBrowserSession } from "../iam/tokens/browser-session.ts";
import type { TokenExchange } from "../iam/tokens/exchange-token.ts";
import type { IssuedToken } from "../iam/tokens/issue-token.ts";
import { loginFromStored, type StoredLogin } from "../iam/tokens/login-token.ts";
import type { Clock } from "../lib/clock.ts";
import { Code, HoltError } from "../lib/errors.ts";
import { takeCode } from "./console-goal.ts";
import { takeSignInLink } from "./sign-in-link.ts";

export interface BegunSession {
  readonly token: IssuedToken;
  /** Undefined for a login whose rights end with the token: the person signs in again afterwards. */
  readonly secret: string | undefined;
}

export interface ConsoleSessions {
  /** @returns undefined for a code that is not valid */
  beginWithCode(code: string, verifier: string, client: LoginClient): Promise<BegunSession | undefined>;
  /** Signs the bootstrap owner in. @returns undefined for a link that is not valid */
  beginWithLink(secret: string, client: LoginClient): Promise<BegunSession | undefined>;
  /** @returns undefined if the session has ended */
  renew(secret: string, client: LoginClient): Promise<IssuedToken | undefined>;
  end(secret: string): Promise<void>;
}

export interface ConsoleSessionsOptions {
  readonly store: Store;
  readonly clock: Clock;
  readonly secrets: Secrets;
  readonly exchange: TokenExchange;
  readonly bootstrapOwner: string;
  readonly baseUrl: string;
}

export function createConsoleSessions({
  store,
  clock,
  secrets,
  exchange,
  bootstrapOwner,
  baseUrl,
}: ConsoleSessionsOptions): ConsoleSessions {
  async function begin(login: StoredLogin, client: LoginClient): Promise<BegunSession> {
    const wanted = { aud: [], scopes: [], cap: [], identity: "", wantsRefreshToken: true, isForBrowser: true };
    const origin = { kind: "console", client: "", ...client } as const;
    const prepared = await exchange.prepareLogin(loginFromStored(login), { ...wanted, origin }, clock.now(), store.reader);
    const { token, refreshToken } = await store.transaction((db) => exchange.recordExchange(db, prepared));
    return { token, secret: refreshToken?.token };
  }

  return {
    async beginWithCode(code, verifier, client) {
      const login = await store.transaction((db) => takeCode(db, { code, verifier }, clock.now(), secrets));
      return login && begin(login, client);
    },
    async beginWithLink(secret, client) {
      const isValid = await store.transaction((db) => takeSignInLink(db, secret, clock.now(), secrets));
      return isValid ? begin(ownerLogin(bootstrapOwner, baseUrl), client) : undefined;
    },
    async renew(secret, client) {
      const prepared = await exchange.prepareSession({ secret, client }, clock.now(), store.reader).catch(endedFrom);
      if (prepared === undefined) return undefined;
      return (await store.transaction((db) => exchange.recordExchange(db, prepared)).catch(endedFrom))?.token;
    },
    end: (secret) => store.transaction((db) => endBrowserSession(db, secret, clock.now())),
  };
}

/** The bootstrap owner, whom this server itself confirms. */
function ownerLogin(identityUid: string, issuer: string): StoredLogin {
  const actor = { iss: issuer, sub: identityUid, aud: issuer };
  return { identityUid, profile: { actor, email: undefined, emailVerified: false, upstream: {} } };
}

/** A person who may no longer sign in has no session. */
function endedFrom(error: unknown): undefined {
  if (error instanceof HoltError && error.code === Code.UNAUTHENTICATED) return undefined;
  throw error;
}
