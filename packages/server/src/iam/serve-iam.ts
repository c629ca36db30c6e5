/** Makes the services of iam, in both versions, and the discovery documents of its tokens. */
import type { Platform, Served } from "../api/domain.ts";
import { accessService } from "./api/access.ts";
import { accountAssociationsService } from "./api/account-associations.ts";
import { accountLinksService } from "./api/account-links.ts";
import { accountsService } from "./api/accounts.ts";
import { authService } from "./api/auth.ts";
import { expiring } from "./api/expiring.ts";
import { externalGroupRoleMappingsService } from "./api/external-group-role-mappings.ts";
import { groupInvitesService } from "./api/group-invites.ts";
import { groupsService } from "./api/groups.ts";
import { identitiesService } from "./api/identities.ts";
import { identityProvidersService } from "./api/identity-providers.ts";
import { membershipsService } from "./api/memberships.ts";
import { publicContentService } from "./api/public-content.ts";
import { pullTokensService } from "./api/pull-tokens.ts";
import { resourceLimitsService } from "./api/resource-limits.ts";
import { roleBindingsService } from "./api/role-bindings.ts";
import { rolesService } from "./api/roles.ts";
import { savedFiltersService } from "./api/saved-filters.ts";
import { peopleFinder } from "./api/search-people.ts";
import { securityTokenService } from "./api/security-token.ts";
import { sessionsService } from "./api/sessions.ts";
import { signInSettingsService } from "./api/sign-in-settings.ts";
import { signatureIdentitiesService } from "./api/signature-identities.ts";
import { termsService } from "./api/terms.ts";
import type { Iam } from "./iam.ts";
import type { IamParts, IamSettings } from "./iam-parts.ts";
import { createPkceSupport } from "./identities/pkce-support.ts";
import { createOidcMounts } from "./tokens/oidc.ts";
import { createTokenTrials } from "./tokens/token-trial.ts";
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

export function serveIam(platform: Platform, iam: Iam & IamParts, settings: IamSettings): Served {
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
    search: [peopleFinder],
    mounts: createOidcMounts({ issuer: baseUrl, jwks: iam.keys.jwks, log }),
  };
}
