/** Who is calling the registry: a Holt token as a bearer or as a password, or an identity with a token that stands for it. */
import { createHash } from "node:crypto";
import type { Principal } from "../../access/principal.ts";
import type { Store } from "../../db/store.ts";
import type { Clock } from "../../lib/clock.ts";
import { Code, HoltError, unauthenticated } from "../../lib/errors.ts";
import { Lru } from "../../lib/lru.ts";
import { isUid } from "../../lib/uid.ts";
import type { RegistryCaller } from "../../registry/open-repo.ts";
import type { Grants } from "../grants/grants.ts";
import type { AccessTokens } from "../tokens/access-token.ts";
import type { AudienceList } from "../tokens/audience.ts";
import type { TokenExchange } from "../tokens/exchange-token.ts";

/** The user of `docker login` whose password is a Holt token. */
export const TOKEN_USER = "_token";

export interface RegistryAuthenticator {
  /** Undefined where the header says nobody. @throws UNAUTHENTICATED */
  authenticate(authorization: string | undefined): Promise<RegistryCaller | undefined>;
  /** @throws UNAUTHENTICATED, for whatever reason the login fails */
  login(user: string, password: string): Promise<RegistryCaller>;
  /** Whether it is a good token of ours, but for another service. */
  isForAnother(authorization: string | undefined): Promise<boolean>;
}

export interface RegistryAuthenticatorOptions {
  readonly store: Store;
  readonly clock: Clock;
  readonly accessTokens: AccessTokens;
  readonly grants: Grants;
  readonly exchange: TokenExchange;
  /** Of the tokens that the registry takes: the API's and its own. */
  readonly audiences: AudienceList;
}

const MAX_REMEMBERED = 10_000;
/** Clients that send a password with every request must not cause a token exchange each time. */
const REMEMBER_MS = 60_000;
const ANY_AUDIENCE: AudienceList = { has: () => true };

export function createRegistryAuthenticator(options: RegistryAuthenticatorOptions): RegistryAuthenticator {
  const { store, clock, accessTokens, grants, exchange, audiences } = options;
  const remembered = new Lru<string, { principal: Principal; until: number }>(MAX_REMEMBERED);

  async function callerOf(principal: Principal): Promise<RegistryCaller> {
    const { exists, access } = await grants.loadSession(principal);
    if (!exists) throw unauthenticated("the identity of this token no longer exists");
    return { principal, access };
  }

  async function exchanged(identity: string, proof: string): Promise<Principal> {
    const now = clock.now();
    const key = createHash("sha256").update(`${identity}\n${proof}`).digest("base64");
    const known = remembered.get(key);
    if (known !== undefined && known.until > now.getTime()) return known.principal;
    const prepared = await exchange.prepareExchange({ bearer: proof, identity, aud: [], scopes: [], cap: [] }, now, store.reader);
    const { token } = await store.transaction((db) => exchange.recordExchange(db, prepared));
    const principal = await accessTokens.verify(token.token);
    remembered.set(key, { principal, until: Math.min(now.getTime() + REMEMBER_MS, principal.expiry * 1000) });
    return principal;
  }

  async function login(user: string, password: string): Promise<RegistryCaller> {
    if (user === TOKEN_USER) return callerOf(await accessTokens.verify(password, audiences));
    if (!isUid(user))
      throw unauthenticated(`the user must be ${TOKEN_USER}, with an access token as its password, or the uid of an identity`);
    return callerOf(await exchanged(user, password).catch(throwUnauthenticated));
  }

  return {
    login,
    async authenticate(authorization) {
      const [scheme = "", credentials = ""] = (authorization ?? "").split(/ +/, 2);
      if (credentials === "") return undefined;
      switch (scheme.toLowerCase()) {
        case "bearer":
          return callerOf(await accessTokens.verify(credentials, audiences));
        case "basic":
          return login(...passwordOf(credentials));
        default:
          throw unauthenticated("the Authorization header must be Bearer or Basic");
      }
    },
    async isForAnother(authorization) {
      const [, credentials = ""] = (authorization ?? "").split(/ +/, 2);
      return accessTokens.verify(credentials, ANY_AUDIENCE).then(
        () => true,
        () => false,
      );
    },
  };
}

/** RFC 7617 §2: everything before the first colon is the user. */
export function passwordOf(credentials: string): [user: string, password: string] {
  const text = Buffer.from(credentials, "base64").toString("utf8");
  const colon = text.indexOf(":");
  if (colon < 0) throw unauthenticated("the credentials are not user:password in base64");
  return [text.slice(0, colon), text.slice(colon + 1)];
}

/** To a registry client, a login that is refused is one that failed. */
function throwUnauthenticated(error: unknown): never {
  const refusals: readonly number[] = [Code.PERMISSION_DENIED, Code.INVALID_ARGUMENT, Code.NOT_FOUND];
  if (error instanceof HoltError && refusals.includes(error.code)) throw unauthenticated(error.message, { cause: error });
  throw error;
}
