/** Identity and access: groups, identities, roles, bindings, identity providers, invites, and the tokens that all of them sign in with. */
import type { Principal } from "../access/principal.ts";
import type { Authenticator } from "../api/call/authenticate.ts";
import type { Domain, Platform, Served } from "../api/module.ts";
import { compileProxyAddresses } from "../http/proxy-addresses.ts";
import { parentOf, rootOf } from "../lib/uid.ts";
import { createOutboundClient } from "../outbound/client.ts";
import { accessService } from "./api/access.ts";
import { accountAssociationsService } from "./api/account-associations.ts";
import { type AuthCollaborators, authService } from "./api/auth.ts";
import { externalGroupRoleMappingsService } from "./api/external-group-role-mappings.ts";
import { groupInvitesService } from "./api/group-invites.ts";
import { createNamedFolder, groupsService } from "./api/groups.ts";
import { identitiesService } from "./api/identities.ts";
import { identityProvidersService } from "./api/identity-providers.ts";
import { membershipsService } from "./api/memberships.ts";
import { pullTokensService } from "./api/pull-tokens.ts";
import { roleBindingsService } from "./api/role-bindings.ts";
import { rolesService } from "./api/roles.ts";
import { securityTokenService } from "./api/security-token.ts";
import { termsService } from "./api/terms.ts";
import { createRegistryAuthenticator } from "./content-login/authenticate.ts";
import type { Grants } from "./grants/grants.ts";
import type { Iam } from "./iam.ts";
import { createPkceSupport } from "./identities/pkce-support.ts";
import { createUserLogins } from "./identities/user-login.ts";
import { createRegistrations } from "./joining/register.ts";
import { initial } from "./migrations/001-initial.ts";
import { identityProviders } from "./migrations/004-identity-providers.ts";
import { joining } from "./migrations/005-joining.ts";
import { tokenMatching } from "./migrations/008-token-matching.ts";
import { stateLeases } from "./migrations/020-state-leases.ts";
import { groupKind } from "./migrations/023-group-kind.ts";
import { spentLoginTokens } from "./migrations/024-spent-login-tokens.ts";
import { memberships } from "./migrations/025-memberships.ts";
import { pullTokens } from "./migrations/033-pull-tokens.ts";
import { pendingBindings } from "./migrations/035-pending-bindings.ts";
import { startPullTokenExpiry } from "./pull-tokens/expiry.ts";
import { createGuessLimit } from "./pull-tokens/guess-limit.ts";
import { LastUses } from "./pull-tokens/last-uses.ts";
import { createPullTokenLogins } from "./pull-tokens/pull-token-login.ts";
import type { Secrets } from "./secrets/secrets.ts";
import { createAccessTokens } from "./tokens/access-token.ts";
import { createAudienceList } from "./tokens/audience.ts";
import { createAwsProofs } from "./tokens/aws-proof.ts";
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
import "./tables.ts";

const ofGroup = ({ uid }: { uid: string }) => ({ subject: uid, group: uid });
const ofNamedGroup = ({ group }: { group: string }) => ofGroup({ uid: group });
/** Users decide about their memberships, and the organization hears of it. */
const ofMembership = ({ uid, identityUid }: { uid: string; identityUid: string }) => ({ subject: identityUid, group: uid });
const ofProvider = ({ identityProviderUid: uid }: { identityProviderUid: string }) => ({ subject: uid, group: parentOf(uid) });
const ofProviderV1 = ({ identityProviderId }: { identityProviderId: string }) => ofProvider({ identityProviderUid: identityProviderId });
/** The parent of a mapping is an identity provider, not a group. */
const ofMapping = (subject: string, identityprovider: string) => ({ subject, group: rootOf(subject), extensions: { identityprovider } });

export const iamDomain: Domain = {
  name: "iam",
  migrations: [
    initial,
    identityProviders,
    joining,
    tokenMatching,
    stateLeases,
    groupKind,
    spentLoginTokens,
    memberships,
    pullTokens,
    pendingBindings,
  ],
  onGroupDelete: {
    blockedBy: [
      { table: "group", what: "child groups" },
      { table: "identity" },
      { table: "role" },
      { table: "identity_provider" },
      { table: "pull_token", what: "pull tokens" },
    ],
    alsoDeletes: [
      { table: "terms_acceptance", column: "org_uid" },
      { table: "access_request", column: "group_uid" },
      { table: "membership", column: "org_uid" },
    ],
  },
  eventSubjects: {
    "platform.iam.v2.Group": ofGroup,
    "platform.iam.v1.Group": ({ id }: { id: string }) => ofGroup({ uid: id }),
    "platform.iam.v2.BatchCreateRoleBindingsResponse": ({ roleBindings }: { roleBindings: { uid: string }[] }) => {
      const group = parentOf(roleBindings[0]?.uid ?? "");
      return { subject: group, group };
    },
    "platform.iam.v1.RoleBindingBatch": ({ roleBindings }: { roleBindings: { id: string }[] }) => ({
      subject: roleBindings.map(({ id }) => id).join(","),
      group: parentOf(roleBindings[0]?.id ?? ""),
    }),
    "platform.iam.v1.GenerateScimTokenResponse": ofProviderV1,
    "platform.iam.v1.RegenerateScimTokenResponse": ofProviderV1,
    "platform.iam.v1.RevokeScimTokenResponse": ofProviderV1,
    "platform.iam.v1.SetScimEnabledResponse": ofProviderV1,
    "platform.events.v1.IdentityMetadata": () => ({ subject: "", group: "" }),
    "platform.iam.v2.IdentityMetadata": ({ uid }: { uid: string }) => ({ subject: uid, group: "" }),
    "platform.iam.v2.GenerateScimTokenResponse": ofProvider,
    "platform.iam.v2.RegenerateScimTokenResponse": ofProvider,
    "platform.iam.v2.RevokeScimTokenResponse": ofProvider,
    "platform.iam.v2.SetScimEnabledResponse": ofProvider,
    "platform.iam.v1.ExternalGroupRoleMapping": ({ id }: { id: string }) => ofMapping(id, parentOf(id)),
    "platform.iam.v1.DeleteExternalGroupRoleMappingRequest": ({ id }: { id: string }) => ofMapping(id, parentOf(id)),
    "platform.iam.v1.BatchDeleteExternalGroupRoleMappingsResponse": ({ parentId }: { parentId: string }) => ofMapping(parentId, parentId),
    "platform.iam.v2.ExternalGroupRoleMapping": ({ uid }: { uid: string }) => ofMapping(uid, parentOf(uid)),
    "platform.iam.v2.DeleteExternalGroupRoleMappingRequest": ({ uid }: { uid: string }) => ofMapping(uid, parentOf(uid)),
    "platform.iam.v2.BatchDeleteExternalGroupRoleMappingsResponse": ({ parent }: { parent: string }) => ofMapping(parent, parent),
    // An account association has the uid of its group.
    "platform.iam.v1.AccountAssociations": ofNamedGroup,
    "platform.iam.v1.DeleteAccountAssociationsRequest": ofNamedGroup,
    "platform.iam.v2.AccountAssociation": ofGroup,
    "platform.iam.v2.DeleteAccountAssociationRequest": ofGroup,
    "holt.v1.Membership": ofMembership,
    "platform.iam.v1.AcceptTermsResponse": ofNamedGroup,
    "platform.iam.v2.AcceptTermsResponse": ofNamedGroup,
  },
};

export interface IamSettings {
  readonly registryUrl: string;
  readonly audiences: readonly string[];
  readonly userIssuers: readonly string[];
  readonly userClientIds: readonly string[];
  readonly servicePrincipals: ServicePrincipals;
  readonly pinnedIssuers: ReadonlyMap<string, unknown>;
  readonly awsStsUrl: string;
  readonly outboundAllowCidrs: readonly string[];
  readonly maxConcurrentCalls: number;
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
  const { store, clock, log, profile, baseUrl: issuer } = platform;
  const { registryUrl, userIssuers, servicePrincipals, awsStsUrl, maxConcurrentCalls } = settings;
  const issuable = createAudienceList([issuer, registryUrl, ...settings.audiences]);
  const accessTokens = createAccessTokens({ issuer, keys, clock, audiences: createAudienceList([issuer]) });
  const client = platform.own(createOutboundClient({ allowCidrs: settings.outboundAllowCidrs }));
  const serviceIssuers = [...servicePrincipals.values()].flat().map((subject) => subject.issuer);
  const trustedIssuers = new Set([...userIssuers, ...serviceIssuers].map(normalizeIssuer));
  const waits = createWaitLimit({ maxConcurrentCalls, trusted: new Set([awsStsUrl, ...trustedIssuers]) });
  const jwks = createJwksCache({ client, clock, log, waits, trusted: trustedIssuers, pinned: settings.pinnedIssuers });
  const users = createUserLogins({ store, grants, jwks, issuer, clientIds: settings.userClientIds, userIssuers });
  const workloads = createWorkloadLogins({ jwks, issuer, issuable, servicePrincipals });
  const awsProofs = createAwsProofs({ client, waits, issuer, stsUrl: awsStsUrl, headerPrefixes: profile.proofHeaders });
  const loginTokens = createLoginTokens({ issuer }, keys);
  const logins = createLogins({ accessTokens, loginTokens, grants, users, workloads, awsProofs, issuable });
  const exchange = createTokenExchange({ store, log, accessTokens, grants, logins, issuable, defaultAudience: issuer });
  const registrations = createRegistrations({ users, grants });
  // The API's audiences are URLs without a path, so a token for the registry is good for nothing else.
  const contentAudience = `${registryUrl}/v2`;
  const audiences = createAudienceList([issuer, registryUrl, contentAudience]);
  const limit = createGuessLimit(clock, compileProxyAddresses(settings.trustedProxies));
  const pullTokens = createPullTokenLogins({ store, clock, secrets, issuer, audience: contentAudience, limit });
  const lastUses = platform.own(new LastUses({ store, clock, log }));
  platform.own(startPullTokenExpiry(platform));
  const contentLogin = createRegistryAuthenticator({ store, clock, accessTokens, grants, exchange, audiences, pullTokens, lastUses });
  const authenticator: Authenticator = {
    verify: accessTokens.verify,
    load: (principal: Principal) => grants.loadSession(principal),
  };
  return {
    ...{ grants, keys, secrets, authenticator, accessTokens, loginTokens, exchange, users, registrations },
    ...{ jwks, trustedIssuers, client, waits, issuable, contentLogin, contentAudience },
    createFolder: createNamedFolder,
  };
}

function serveIam(platform: Platform, iam: Iam & IamParts, settings: IamSettings): Served {
  const { baseUrl, log } = platform;
  const pkceSupport = createPkceSupport(iam);
  const tokenTrials = createTokenTrials({ ...iam, issuer: baseUrl, servicePrincipals: settings.servicePrincipals });
  const collaborators = { ...platform, ...iam, pkceSupport, tokenTrials };
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
      membershipsService(collaborators),
      pullTokensService(collaborators),
    ],
    mounts: createOidcMounts({ issuer: baseUrl, jwks: iam.keys.jwks, log }),
  };
}
