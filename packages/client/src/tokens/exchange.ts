/** Exchanges tokens at a server's security token service. */

import { timestampDate } from "@bufbuild/protobuf/wkt";
import { type Client, createClient } from "@connectrpc/connect";
import { type RawToken, SecurityTokenService } from "@holt/api/gen/platform/oidc/v1/security_token_service_pb.ts";
import { assertBaseUrl } from "../base-url.ts";
import { transportTo } from "../transport.ts";
import { cached, type Token, type TokenSource } from "./token-source.ts";

export interface ExchangeOptions {
  /** URL of the server, which is also its issuer. */
  readonly baseUrl: string;
  /** Uid of the identity to act as. Without it, the user that the subject token describes. */
  readonly identity?: string;
  /** Default: the server itself. */
  readonly audience?: readonly string[];
  /** Names of capabilities that the token is limited to, e.g. `groups.list`. */
  readonly capabilities?: readonly string[];
  /** Uids of groups that the token is limited to. */
  readonly scopes?: readonly string[];
}

/** Exchanges another issuer's tokens for tokens of the server. The result is cached. @throws TypeError for a malformed URL */
export function exchangedToken(subject: TokenSource, options: ExchangeOptions): TokenSource {
  const { identity = "", audience = [], capabilities = [], scopes = [] } = options;
  assertBaseUrl(options.baseUrl);
  return cached(async (signal) => {
    const headers = bearer(await subject(signal));
    const request = { identity, aud: [...audience], cap: [...capabilities], scopes: [...scopes] };
    return tokenFrom(await serviceAt(options.baseUrl).exchange(request, { headers, ...(signal && { signal }) }));
  });
}

/** The place where a program keeps its refresh token. */
export interface RefreshTokenStore {
  load(): Promise<string>;
  /** The server accepts each refresh token once, so the new one must be kept before the access token is used. */
  save(refreshToken: string): Promise<void>;
}

/** Exchanges a refresh token, and keeps the next one. The result is cached. @throws TypeError for a malformed URL */
export function refreshedToken(
  store: RefreshTokenStore,
  { baseUrl, audience = [] }: Pick<ExchangeOptions, "baseUrl" | "audience">,
): TokenSource {
  assertBaseUrl(baseUrl);
  return cached(async (signal) => {
    const headers = bearer({ token: await store.load() });
    const call = { headers, ...(signal && { signal }) };
    const pair = await serviceAt(baseUrl).exchangeRefreshToken({ aud: [...audience] }, call);
    await store.save(pair.refreshToken?.token ?? "");
    return tokenFrom(pair.token);
  });
}

function serviceAt(baseUrl: string): Client<typeof SecurityTokenService> {
  return createClient(SecurityTokenService, transportTo({ baseUrl }));
}

function bearer({ token }: Pick<Token, "token">): Record<string, string> {
  return { authorization: `Bearer ${token}` };
}

function tokenFrom(raw: RawToken | undefined): Token {
  return { token: raw?.token ?? "", expiry: raw?.expiry && timestampDate(raw.expiry) };
}
