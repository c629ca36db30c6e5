/**
 * Authenticates callers of the registry and the package endpoints. They send a Holt token as bearer or password, the user
 * name and password of a pull token, or an identity's uid with a token that may assume it. Anonymous callers may read
 * public content.
 */
import { Code, HoltError, unauthenticated } from "../../lib/errors.ts";
import { isUid } from "../../lib/uid.ts";
import type { LastUses } from "../pull-tokens/last-uses.ts";
import { looksLikePassword } from "../pull-tokens/password.ts";
import type { PullTokenLogins } from "../pull-tokens/pull-token-login.ts";
import type { AudienceList } from "../tokens/audience.ts";
import { isEmptyLogin, parseBasicCredentials } from "./basic-credentials.ts";
import { type CachedExchangeOptions, createCachedExchange } from "./cached-exchange.ts";
import { type ContentCaller, type ContentCallersOptions, createContentCallers } from "./content-callers.ts";

/** User name for `docker login` with a Holt token as the password. */
export const TOKEN_USER = "_token";

export interface RegistryAuthenticator {
  /**
   * @param remoteAddress for limits, and for the last use of a pull token
   * @returns undefined for an anonymous caller while nothing is public
   * @throws UNAUTHENTICATED; RESOURCE_EXHAUSTED after too many wrong passwords
   */
  authenticate(authorization: string | undefined, remoteAddress: string | undefined): Promise<ContentCaller | undefined>;
  /** @throws UNAUTHENTICATED for every failure; RESOURCE_EXHAUSTED after too many wrong passwords */
  login(user: string, password: string, remoteAddress: string | undefined): Promise<ContentCaller>;
  /** Whether the bearer token is a valid Holt token if its audience is ignored. */
  isForOtherAudience(authorization: string | undefined): Promise<boolean>;
}

export interface RegistryAuthenticatorOptions extends CachedExchangeOptions, ContentCallersOptions {
  readonly pullTokens: PullTokenLogins;
  readonly lastUses: Pick<LastUses, "record">;
  /** Audiences of the tokens that the registry accepts: the API's and its own. */
  readonly audiences: AudienceList;
}

const ANY_AUDIENCE: AudienceList = { has: () => true };

export function createRegistryAuthenticator(options: RegistryAuthenticatorOptions): RegistryAuthenticator {
  const { accessTokens, audiences, pullTokens, lastUses } = options;
  const exchanges = createCachedExchange(options);
  const callers = createContentCallers(options);

  async function loginWithPullToken(user: string, password: string, remoteAddress: string | undefined): Promise<ContentCaller> {
    const caller = await callers.fromPrincipal(await pullTokens.login(user, password, remoteAddress));
    lastUses.record(caller.principal.uid, remoteAddress);
    return caller;
  }

  async function loginWithProof(identityUid: string, proof: string): Promise<ContentCaller> {
    const known = exchanges.recall(identityUid, proof);
    // If the session of a kept login has ended, its proof may begin another one.
    const caller = known && (await callers.fromPrincipal(known).catch(ignoreUnauthenticated));
    return caller ?? callers.fromPrincipal(await exchanges.exchange(identityUid, proof).catch(throwUnauthenticated));
  }

  async function login(user: string, password: string, remoteAddress: string | undefined): Promise<ContentCaller> {
    if (looksLikePassword(password)) return loginWithPullToken(user, password, remoteAddress);
    if (user === TOKEN_USER) return callers.fromPrincipal(await accessTokens.verify(password, audiences).catch(throwWrongPassword));
    if (!isUid(user))
      throw unauthenticated(
        `wrong user name or password; log in as ${TOKEN_USER} with an access token, as a pull token with its password (holt_pt_…), ` +
          "or as the uid of an identity with a token that it accepts",
      );
    return loginWithProof(user, password);
  }

  return {
    login,
    async authenticate(authorization, remoteAddress) {
      const [scheme = "", credentials = ""] = (authorization ?? "").split(/ +/, 2);
      if (credentials === "" || isEmptyLogin(scheme, credentials)) return callers.anonymous();
      switch (scheme.toLowerCase()) {
        case "bearer":
          return callers.fromPrincipal(await accessTokens.verify(credentials, audiences));
        case "basic":
          return login(...parseBasicCredentials(credentials), remoteAddress);
        default:
          throw unauthenticated("the Authorization header must be Bearer or Basic");
      }
    },
    async isForOtherAudience(authorization) {
      const [, credentials = ""] = (authorization ?? "").split(/ +/, 2);
      return accessTokens.verify(credentials, ANY_AUDIENCE).then(
        () => true,
        () => false,
      );
    },
  };
}

function ignoreUnauthenticated(error: unknown): undefined {
  if (!isUnauthenticated(error)) throw error;
}

function isUnauthenticated(error: unknown): error is HoltError {
  return error instanceof HoltError && error.code === Code.UNAUTHENTICATED;
}

/** Clients show this message to people who entered a password and do not know about tokens. */
function throwWrongPassword(error: unknown): never {
  if (!isUnauthenticated(error)) throw error;
  const reason = error.message.replace(/^Unauthenticated: (?:the token is not acceptable: )?/, "");
  throw unauthenticated(
    `the password of the user ${TOKEN_USER} must be a valid access token of this server, as /sts/exchange returns it; reason: ${reason}`,
    { cause: error },
  );
}

/** Registry clients treat every refused login as a failed one. */
function throwUnauthenticated(error: unknown): never {
  const refusalCodes: readonly number[] = [Code.PERMISSION_DENIED, Code.INVALID_ARGUMENT, Code.NOT_FOUND];
  if (error instanceof HoltError && refusalCodes.includes(error.code)) throw unauthenticated(error.message, { cause: error });
  throw error;
}
