/** Identity and access: groups, identities, roles, bindings, identity providers, invites, and the tokens that all of them sign in with. */
import type { Principal } from "../access/principal.ts";
import type { Authenticator } from "../api/call/authenticate.ts";
import type { Platform, Served } from "../api/module.ts";
import { compileProxyAddresses, type IsProxy } from "../http/proxy-addresses.ts";
import { createOutboundClient } from "../outbound/client.ts";
import { createLocalAccounts, type LocalAccounts } from "./accounts/local-accounts.ts";
import { createPasswordHashes } from "./accounts/password-hash.ts";
import { createWebauthn } from "./accounts/webauthn.ts";
import { accessService } from "./api/access.ts";
import { accountAssociationsService } from "./api/account-associations.ts";
import { accountLinksService } from "./api/account-links.ts";
import { accountsService } from "./api/accounts.ts";
import { type AuthCollaborators, authService } from "./api/auth.ts";
import { expiring } from "./api/expiring.ts";
import { externalGroupRoleMappingsService } from "./api/external-group-role-mappings.ts";
import { groupInvitesService } from "./api/group-invites.ts";
import { createNamedFolder, groupsService } from "./api/groups.ts";
import { identitiesService } from "./api/identities.ts";
import { identityProvidersService } from "./api/identity-providers.ts";
import { meterLimits } from "./api/limit-metrics.ts";
import { membershipsService } from "./api/memberships.ts";
import { publicContentService } from "./api/public-content.ts";
import { pullTokensService } from "./api/pull-tokens.ts";
import { resourceLimitsService } from "./api/resource-limits.ts";
import { roleBindingsService } from "./api/role-bindings.ts";
import { rolesService } from "./api/roles.ts";
import { savedFiltersService } from "./api/saved-filters.ts";
import { securityTokenService } from "./api/security-token.ts";
import { sessionsService } from "./api/sessions.ts";
import { signInSettingsService } from "./api/sign-in-settings.ts";
import { signatureIdentitiesService } from "./api/signature-identities.ts";
import { termsService } from "./api/terms.ts";
import { createRegistryAuthenticator } from "./content-login/authenticate.ts";
import type { Grants } from "./grants/grants.ts";
import type { Iam } from "./iam.ts";
import { createPkceSupport } from "./identities/pkce-support.ts";
import { createUserLogins } from "./identities/user-login.ts";
import { createRegistrations } from "./joining/register.ts";
import { startPullTokenExpiry } from "./pull-tokens/expiry.ts";
import { createGuessLimit, type GuessPolicy } from "./pull-tokens/guess-limit.ts";
import { LastUses } from "./pull-tokens/last-uses.ts";
import { createPullTokenLogins } from "./pull-tokens/pull-token-login.ts";
import type { Secrets } from "./secrets/secrets.ts";
import { createAccessTokens } from "./tokens/access-token.ts";
import { createAudienceList } from "./tokens/audience.ts";
import { createAwsProofs } from "./tokens/aws-proof.ts";
import { meterExchange } from "./tokens/exchange-metrics.ts";
import { createTokenExchange } from "./tokens/exchange-token.ts";
import { createJwksCache } from "./tokens/jwks.ts";
import { normalizeIssuer } from "./tokens/jwt.ts";
import { createLogins } from "./tokens/login.ts";
import { createLoginTokens } from "./tokens/login-token.ts";
import { createOidcMounts } from "./tokens/oidc.ts";
import type { SigningKeys } from "./tokens/signing-keys.ts";
import { createTokenTrials } from "./tokens/token-trial.ts";
import { createWaitLimit } from "./tokens/wait-limit.ts";
import { createWorkloadLogins, type ServicePrincipals } from "./tokens/workload-login.ts";
import { accountAssociationsServiceV1 } from "./v1/account-associations.ts";
import { externalGroupRoleMappingsServiceV1 } from "./v1/external-group-role-mappings.ts";
import { groupInvitesServiceV1 } from "./v1/group-invites.ts";
import { groupsServiceV1 } from "./v1/groups.ts";
import { identitiesServiceV1 } from "./v1/identities.ts";
import { identityProvidersServiceV1 } from "./v1/identity-providers.ts";
import { ownIdentityServiceV1 } from "./v1/own-identity.ts";
import { roleBindingsServiceV1 } from "./v1/role-bindings.ts";
import { rolesServiceV1 } from "./v1/roles.ts";
import { termsServiceV1 } from "./v1/terms.ts";

export interface IamSettings {
  readonly registryUrl: string;
  readonly audiences: readonly string[];
  readonly userIssuers: readonly string[];
  readonly userClientIds: readonly string[];
  readonly localAccounts: boolean;
  readonly servicePrincipals: ServicePrincipals;
  readonly pinnedIssuers: ReadonlyMap<string, unknown>;
  readonly awsStsUrl: string;
  readonly outboundAllowCidrs: readonly string[];
  readonly maxConcurrentCalls: number;
  /** Whether content may be public. */
  readonly publicContent: boolean;
  /** CIDRs of reverse proxies. */
  readonly trustedProxies: readonly string[];
}

/** What iam needs of the installation, and of domains that it does not know. */
export interface IamParts {
  readonly grants: Grants;
  readonly keys: SigningKeys;
  readonly secrets: Secrets;
  /** Removes most of what a directory has provisioned, in chunks, before its identity provider is deleted. */
  readonly emptyDirectory: (idpUid: string) => Promise<void>;
  readonly takeHeadlessSession: AuthCollaborators["takeHeadlessSession"];
}

export function startIam(platform: Platform, parts: IamParts, settings: IamSettings): { readonly iam: Iam; readonly served: Served } {
  const iam = createIam(platform, parts, settings);
  return { iam, served: serveIam(platform, { ...iam, ...parts }, settings) };
}

function createIam(platform: Platform, { grants, keys, secrets }: IamParts, settings: IamSettings): Iam {
  const { store, clock, log, meter, profile, baseUrl: issuer } = platform;
  const { registryUrl, userIssuers, servicePrincipals, awsStsUrl, maxConcurrentCalls } = settings;
  const issuable = createAudienceList([issuer, registryUrl, ...settings.audiences]);
  meterLimits(meter, store, platform.blobReferences);
  const accessTokens = createAccessTokens({ issuer, keys, clock, audiences: createAudienceList([issuer]), meter });
  const client = platform.own(createOutboundClient({ allowCidrs: settings.outboundAllowCidrs, tracer: platform.tracer }));
  const serviceIssuers = [...servicePrincipals.values()].flat().map((subject) => subject.issuer);
  const trustedIssuers = new Set([...userIssuers, ...serviceIssuers].map(normalizeIssuer));
  const waits = createWaitLimit({ maxConcurrentCalls, trusted: new Set([awsStsUrl, ...trustedIssuers]) });
  const jwks = createJwksCache({ client, clock, log, waits, trusted: trustedIssuers, pinned: settings.pinnedIssuers, meter });
  const users = createUserLogins({ store, grants, jwks, issuer, clientIds: settings.userClientIds, userIssuers });
  const workloads = createWorkloadLogins({ jwks, issuer, issuable, servicePrincipals });
  const awsProofs = createAwsProofs({ client, waits, issuer, stsUrl: awsStsUrl, headerPrefixes: profile.proofHeaders });
  const loginTokens = createLoginTokens({ issuer }, keys);
  const logins = createLogins({
    accessTokens,
    loginTokens,
    grants,
    users,
    workloads,
    awsProofs,
    issuable,
    hasLocalAccounts: settings.localAccounts,
  });
  const exchange = meterExchange(
    createTokenExchange({ store, log, accessTokens, grants, logins, issuable, defaultAudience: issuer }),
    meter,
  );
  const registrations = createRegistrations({ users, grants });
  // The API's audiences are URLs without a path, so a token for the registry is good for nothing else.
  const contentAudience = `${registryUrl}/v2`;
  const audiences = createAudienceList([issuer, registryUrl, contentAudience]);
  const isProxy = compileProxyAddresses(settings.trustedProxies);
  const limit = createGuessLimit(clock, isProxy);
  const pullTokens = createPullTokenLogins({ store, clock, secrets, issuer, audience: contentAudience, limit, meter });
  const lastUses = platform.own(new LastUses({ store, clock, log }));
  platform.own(startPullTokenExpiry(platform));
  const contentLogin = createRegistryAuthenticator({
    store,
    clock,
    accessTokens,
    grants,
    exchange,
    audiences,
    pullTokens,
    lastUses,
    anonymous: settings.publicContent ? { issuer, audience: contentAudience } : undefined,
    meter,
  });
  const authenticator: Authenticator = {
    verify: accessTokens.verify,
    load: (principal: Principal) => grants.loadSession(principal),
    recall(token) {
      const principal = accessTokens.recall(token);
      const rights = principal && grants.recallSession(principal);
      return rights?.exists === true ? { principal, access: rights.access } : undefined;
    },
  };
  return {
    grants,
    keys,
    secrets,
    authenticator,
    accessTokens,
    loginTokens,
    exchange,
    users,
    registrations,
    jwks,
    trustedIssuers,
    client,
    waits,
    issuable,
    contentLogin,
    contentAudience,
    createFolder: createNamedFolder,
    localAccounts: settings.localAccounts ? startLocalAccounts(platform, secrets, isProxy) : undefined,
  };
}

/** Nobody mistypes a password more often; with a second factor, that many guesses find nothing. */
const ACCOUNT_GUESSES: GuessPolicy = {
  windowMs: 15 * 60_000,
  maxWrongPerUserName: 10,
  maxWrongPerAddress: 100,
  maxWrongFromAllAddresses: 50,
  refusal: "too many wrong attempts; wait a quarter of an hour, or use a passkey",
};

function startLocalAccounts({ store, clock, names, mailer, baseUrl }: Platform, secrets: Secrets, isProxy: IsProxy): LocalAccounts {
  const guesses = createGuessLimit(clock, isProxy, ACCOUNT_GUESSES);
  const webauthn = createWebauthn(baseUrl);
  const passwords = createPasswordHashes();
  return createLocalAccounts({ store, clock, secrets, names, mailer, webauthn, passwords, guesses });
}

function serveIam(platform: Platform, iam: Iam & IamParts, settings: IamSettings): Served {
  const { baseUrl, log } = platform;
  const pkceSupport = createPkceSupport(iam);
  const tokenTrials = createTokenTrials({ ...iam, issuer: baseUrl, servicePrincipals: settings.servicePrincipals });
  const collaborators = { ...platform, ...iam, pkceSupport, tokenTrials, allowsPublicContent: settings.publicContent };
  const groups = groupsService(collaborators);
  const identities = identitiesService(collaborators);
  const roles = rolesService(collaborators);
  const mappings = externalGroupRoleMappingsService(collaborators);
  const invites = groupInvitesService(collaborators);
  const associations = accountAssociationsService(collaborators);
  const terms = termsService(collaborators);
  return {
    services: [
      groups,
      groupsServiceV1(groups),
      identities,
      identitiesServiceV1(identities),
      roles,
      rolesServiceV1(roles),
      roleBindingsService(collaborators),
      roleBindingsServiceV1(collaborators),
      identityProvidersService(collaborators),
      identityProvidersServiceV1(collaborators),
      mappings,
      externalGroupRoleMappingsServiceV1(mappings),
      invites,
      groupInvitesServiceV1(invites, collaborators),
      ownIdentityServiceV1(collaborators),
      associations,
      accountAssociationsServiceV1(associations),
      terms,
      termsServiceV1(terms),
      authService(collaborators),
      securityTokenService(collaborators),
      accessService(collaborators),
      accountLinksService(collaborators),
      accountsService(collaborators),
      membershipsService(collaborators),
      pullTokensService(collaborators),
      publicContentService(collaborators),
      sessionsService(collaborators),
      signatureIdentitiesService(collaborators),
      signInSettingsService(collaborators),
      resourceLimitsService(collaborators),
      savedFiltersService,
    ],
    attention: expiring,
    mounts: createOidcMounts({ issuer: baseUrl, jwks: iam.keys.jwks, log }),
  };
}
