/** Assembles the logins of clients of the registry and of libraries, with their pull tokens. */
import type { Platform } from "../../api/domain.ts";
import type { IsProxy } from "../../http/proxy-addresses.ts";
import type { Grants } from "../grants/grants.ts";
import type { Iam } from "../iam.ts";
import type { IamSettings } from "../iam-parts.ts";
import { startPullTokenExpiry } from "../pull-tokens/expiry.ts";
import { createGuessLimit } from "../pull-tokens/guess-limit.ts";
import { LastUses } from "../pull-tokens/last-uses.ts";
import { createPullTokenLogins } from "../pull-tokens/pull-token-login.ts";
import type { Secrets } from "../secrets/secrets.ts";
import type { AccessTokens } from "../tokens/access-token.ts";
import { createAudienceList } from "../tokens/audience.ts";
import type { TokenExchange } from "../tokens/exchange-token.ts";
import { createRegistryAuthenticator } from "./authenticate.ts";

export interface ContentLoginParts {
  readonly grants: Grants;
  readonly secrets: Secrets;
  readonly accessTokens: AccessTokens;
  readonly exchange: TokenExchange;
  readonly isProxy: IsProxy;
}

export function startContentLogin(
  platform: Platform,
  { isProxy, ...parts }: ContentLoginParts,
  { registryUrl, publicContent }: IamSettings,
): Pick<Iam, "contentLogin" | "contentAudience"> {
  const { store, clock, log, meter, baseUrl: issuer } = platform;
  // The API's audiences are URLs without a path, so a token for the registry is good for nothing else.
  const contentAudience = `${registryUrl}/v2`;
  const audiences = createAudienceList([issuer, registryUrl, contentAudience]);
  const limit = createGuessLimit(clock, isProxy);
  const pullTokens = createPullTokenLogins({ store, clock, secrets: parts.secrets, issuer, audience: contentAudience, limit, meter });
  const lastUses = platform.own(new LastUses({ store, clock, log }));
  platform.own(startPullTokenExpiry(platform));
  const anonymous = publicContent ? { issuer, audience: contentAudience } : undefined;
  const contentLogin = createRegistryAuthenticator({ ...parts, store, clock, audiences, pullTokens, lastUses, anonymous, meter });
  return { contentLogin, contentAudience };
}
