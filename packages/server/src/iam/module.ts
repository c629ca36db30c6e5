/** Identity and access: groups, identities, roles, bindings, identity providers, invites, and the tokens that all of them sign in with. */
import type { Principal } from "../access/principal.ts";
import type { Authenticator } from "../api/call/authenticate.ts";
import type { Platform, Served } from "../api/domain.ts";
import { compileProxyAddresses } from "../http/proxy-addresses.ts";
import { startLocalAccounts } from "./accounts/start-local-accounts.ts";
import { createNamedFolder } from "./api/groups.ts";
import { meterLimits } from "./api/limit-metrics.ts";
import { startContentLogin } from "./content-login/start-content-login.ts";
import type { Grants } from "./grants/grants.ts";
import type { Iam } from "./iam.ts";
import type { IamParts, IamSettings } from "./iam-parts.ts";
import { createRegistrations } from "./joining/register.ts";
import { serveIam } from "./serve-iam.ts";
import type { AccessTokens } from "./tokens/access-token.ts";
import { startTokenServices } from "./tokens/start-token-services.ts";

export function startIam(platform: Platform, parts: IamParts, settings: IamSettings): { readonly iam: Iam; readonly served: Served } {
  const iam = createIam(platform, parts, settings);
  return { iam, served: serveIam(platform, { ...iam, ...parts }, settings) };
}

function createIam(platform: Platform, parts: IamParts, settings: IamSettings): Iam {
  const { grants, keys, secrets } = parts;
  meterLimits(platform.meter, platform.store, platform.blobReferences);
  const tokens = startTokenServices(platform, parts, settings);
  const { accessTokens, exchange, users } = tokens;
  const isProxy = compileProxyAddresses(settings.trustedProxies);
  return {
    ...tokens,
    ...startContentLogin(platform, { grants, secrets, accessTokens, exchange, isProxy }, settings),
    grants,
    keys,
    secrets,
    authenticator: createAuthenticator(accessTokens, grants),
    registrations: createRegistrations({ users, grants }),
    createFolder: createNamedFolder,
    localAccounts: settings.localAccounts ? startLocalAccounts(platform, secrets, isProxy) : undefined,
  };
}

function createAuthenticator(accessTokens: AccessTokens, grants: Grants): Authenticator {
  return {
    verify: accessTokens.verify,
    load: (principal: Principal) => grants.loadSession(principal),
    recall(token) {
      const principal = accessTokens.recall(token);
      const rights = principal && grants.recallSession(principal);
      return rights?.exists === true ? { principal, access: rights.access } : undefined;
    },
  };
}
