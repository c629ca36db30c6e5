/** Every service of the contract by version, domain and resource. The methods come from the descriptors. */
import { AccessService } from "@holt/api/gen/holt/v1/access_pb.ts";
import { AccountLinksService } from "@holt/api/gen/holt/v1/account_links_pb.ts";
import { AccountsService } from "@holt/api/gen/holt/v1/accounts_pb.ts";
import { AdvisoryMirrorsService } from "@holt/api/gen/holt/v1/advisory_mirrors_pb.ts";
import { AdvisoryPreviewsService } from "@holt/api/gen/holt/v1/advisory_previews_pb.ts";
import { AttentionService } from "@holt/api/gen/holt/v1/attention_pb.ts";
import { AuditService } from "@holt/api/gen/holt/v1/audit_pb.ts";
import { DeliveriesService } from "@holt/api/gen/holt/v1/deliveries_pb.ts";
import { EndOfLifeService } from "@holt/api/gen/holt/v1/end_of_life_pb.ts";
import { EventsService } from "@holt/api/gen/holt/v1/events_pb.ts";
import { ImageContentsService } from "@holt/api/gen/holt/v1/image_contents_pb.ts";
import { ImagePackagesService } from "@holt/api/gen/holt/v1/image_packages_pb.ts";
import { ImageReferrersService } from "@holt/api/gen/holt/v1/image_referrers_pb.ts";
import { ImportsService } from "@holt/api/gen/holt/v1/imports_pb.ts";
import { LibraryArtifactsService } from "@holt/api/gen/holt/v1/library_artifacts_pb.ts";
import { MembershipsService } from "@holt/api/gen/holt/v1/memberships_pb.ts";
import { PublicContentService } from "@holt/api/gen/holt/v1/public_content_pb.ts";
import { PullRecordingsService } from "@holt/api/gen/holt/v1/pull_recordings_pb.ts";
import { PullTokensService } from "@holt/api/gen/holt/v1/pull_tokens_pb.ts";
import { PythonProjectsService } from "@holt/api/gen/holt/v1/python_projects_pb.ts";
import { ResourceLimitsService } from "@holt/api/gen/holt/v1/resource_limits_pb.ts";
import { SavedFiltersService } from "@holt/api/gen/holt/v1/saved_filters_pb.ts";
import { SearchService } from "@holt/api/gen/holt/v1/search_pb.ts";
import { SessionsService } from "@holt/api/gen/holt/v1/sessions_pb.ts";
import { SignInSettingsService } from "@holt/api/gen/holt/v1/sign_in_settings_pb.ts";
import { SignatureIdentitiesService } from "@holt/api/gen/holt/v1/signature_identities_pb.ts";
import { SignatureKeysService } from "@holt/api/gen/holt/v1/signature_keys_pb.ts";
import { SubscriptionSettingsService } from "@holt/api/gen/holt/v1/subscriptions_pb.ts";
import { VulnerabilitiesService } from "@holt/api/gen/holt/v1/vulnerabilities_pb.ts";
import { SecurityAdvisory } from "@holt/api/gen/platform/advisory/v1/security_advisories_pb.ts";
import { SecurityAdvisoryService } from "@holt/api/gen/platform/advisory/v2/security_advisories_pb.ts";
import { Auth } from "@holt/api/gen/platform/auth/v1/auth_pb.ts";
import { Identities as EventIdentities } from "@holt/api/gen/platform/events/v1/identities_pb.ts";
import { Subscriptions } from "@holt/api/gen/platform/events/v1/subscriptions_pb.ts";
import { SubscriptionsService } from "@holt/api/gen/platform/events/v2/subscriptions_pb.ts";
import { GroupAccountAssociations } from "@holt/api/gen/platform/iam/v1/account_associations_pb.ts";
import { ExternalGroupRoleMappings } from "@holt/api/gen/platform/iam/v1/external_group_role_mappings_pb.ts";
import { GroupInvites } from "@holt/api/gen/platform/iam/v1/group_invites_pb.ts";
import { Groups } from "@holt/api/gen/platform/iam/v1/groups_pb.ts";
import { Identities } from "@holt/api/gen/platform/iam/v1/identities_pb.ts";
import { IdentityProviders } from "@holt/api/gen/platform/iam/v1/identity_providers_pb.ts";
import { RoleBindings } from "@holt/api/gen/platform/iam/v1/role_bindings_pb.ts";
import { Roles } from "@holt/api/gen/platform/iam/v1/roles_pb.ts";
import { Terms } from "@holt/api/gen/platform/iam/v1/terms_pb.ts";
import { AccountAssociationsService } from "@holt/api/gen/platform/iam/v2/account_associations_pb.ts";
import { ExternalGroupRoleMappingsService } from "@holt/api/gen/platform/iam/v2/external_group_role_mappings_pb.ts";
import { GroupInvitesService } from "@holt/api/gen/platform/iam/v2/group_invites_pb.ts";
import { GroupsService } from "@holt/api/gen/platform/iam/v2/groups_pb.ts";
import { IdentitiesService } from "@holt/api/gen/platform/iam/v2/identities_pb.ts";
import { IdentityProvidersService } from "@holt/api/gen/platform/iam/v2/identity_providers_pb.ts";
import { RoleBindingsService } from "@holt/api/gen/platform/iam/v2/role_bindings_pb.ts";
import { RolesService } from "@holt/api/gen/platform/iam/v2/roles_pb.ts";
import { TermsService } from "@holt/api/gen/platform/iam/v2/terms_pb.ts";
import { Artifacts } from "@holt/api/gen/platform/libraries/v1/artifacts_pb.ts";
import { AWSMarketplaceSubscriptions } from "@holt/api/gen/platform/libraries/v1/aws_marketplace_subscriptions_pb.ts";
import { Entitlements as LibraryEntitlements } from "@holt/api/gen/platform/libraries/v1/entitlements_pb.ts";
import {
  LibraryPolicies,
  LibraryPolicyBindings,
  LibraryPolicyBlockEvents,
} from "@holt/api/gen/platform/libraries/v1/library_policies_pb.ts";
import { Malware } from "@holt/api/gen/platform/libraries/v1/malware_pb.ts";
import { NpmPackages } from "@holt/api/gen/platform/libraries/v1/npm_packages_pb.ts";
import { ResolutionCache } from "@holt/api/gen/platform/libraries/v1/resolution_cache_pb.ts";
import { ArtifactsService } from "@holt/api/gen/platform/libraries/v2/artifacts_pb.ts";
import { SecurityTokenService } from "@holt/api/gen/platform/oidc/v1/security_token_service_pb.ts";
import { PingService as PingServiceV1 } from "@holt/api/gen/platform/ping/v1/ping_pb.ts";
import { PingService } from "@holt/api/gen/platform/ping/v2/ping_pb.ts";
import { Apko } from "@holt/api/gen/platform/registry/v1/apko_pb.ts";
import { Charts } from "@holt/api/gen/platform/registry/v1/charts_pb.ts";
import { Entitlements as RegistryEntitlements } from "@holt/api/gen/platform/registry/v1/entitlements_pb.ts";
import { Policies } from "@holt/api/gen/platform/registry/v1/policies_pb.ts";
import { Registry } from "@holt/api/gen/platform/registry/v1/registry_pb.ts";
import { Vulnerabilities } from "@holt/api/gen/platform/registry/v1/vulnerabilities_pb.ts";
import { ImagesService } from "@holt/api/gen/platform/registry/v2/images_pb.ts";
import { ReposService } from "@holt/api/gen/platform/registry/v2/repos_pb.ts";
import { TagsService } from "@holt/api/gen/platform/registry/v2/tags_pb.ts";
import { Advisories } from "@holt/api/gen/platform/vulnerabilities/v1/advisories_pb.ts";
import { AdvisoriesService } from "@holt/api/gen/platform/vulnerabilities/v2/advisories_pb.ts";

/** The key of a resource is the plural in the name of its list method: `listAll` of `repos` calls `listRepos`. */
export const servicesV2 = {
  iam: {
    accountAssociations: AccountAssociationsService,
    externalGroupRoleMappings: ExternalGroupRoleMappingsService,
    groupInvites: GroupInvitesService,
    groups: GroupsService,
    identities: IdentitiesService,
    identityProviders: IdentityProvidersService,
    roleBindings: RoleBindingsService,
    roles: RolesService,
    terms: TermsService,
  },
  registry: { images: ImagesService, repos: ReposService, tags: TagsService },
  libraries: { artifacts: ArtifactsService },
  vulnerabilities: { advisories: AdvisoriesService },
  advisory: { documents: SecurityAdvisoryService },
  events: { subscriptions: SubscriptionsService },
  ping: { ping: PingService },
} as const;

export const servicesV1 = {
  auth: { auth: Auth },
  oidc: { tokens: SecurityTokenService },
  iam: {
    accountAssociations: GroupAccountAssociations,
    externalGroupRoleMappings: ExternalGroupRoleMappings,
    groupInvites: GroupInvites,
    groups: Groups,
    identities: Identities,
    identityProviders: IdentityProviders,
    roleBindings: RoleBindings,
    roles: Roles,
    terms: Terms,
  },
  registry: {
    apko: Apko,
    charts: Charts,
    entitlements: RegistryEntitlements,
    policies: Policies,
    registry: Registry,
    vulnerabilities: Vulnerabilities,
  },
  libraries: {
    artifacts: Artifacts,
    awsMarketplaceSubscriptions: AWSMarketplaceSubscriptions,
    entitlements: LibraryEntitlements,
    malware: Malware,
    npmPackages: NpmPackages,
    policies: LibraryPolicies,
    policyBindings: LibraryPolicyBindings,
    policyBlockEvents: LibraryPolicyBlockEvents,
    resolutionCache: ResolutionCache,
  },
  vulnerabilities: { advisories: Advisories },
  advisory: { documents: SecurityAdvisory },
  events: { identities: EventIdentities, subscriptions: Subscriptions },
  ping: { ping: PingServiceV1 },
} as const;

/** Holt's own services. */
export const servicesOfHolt = {
  access: AccessService,
  accountLinks: AccountLinksService,
  accounts: AccountsService,
  audit: AuditService,
  advisoryMirrors: AdvisoryMirrorsService,
  advisoryPreviews: AdvisoryPreviewsService,
  attention: AttentionService,
  deliveries: DeliveriesService,
  endOfLife: EndOfLifeService,
  events: EventsService,
  imagePackages: ImagePackagesService,
  imageContents: ImageContentsService,
  imageReferrers: ImageReferrersService,
  imports: ImportsService,
  libraryArtifacts: LibraryArtifactsService,
  memberships: MembershipsService,
  publicContent: PublicContentService,
  pullRecordings: PullRecordingsService,
  pullTokens: PullTokensService,
  pythonProjects: PythonProjectsService,
  resourceLimits: ResourceLimitsService,
  savedFilters: SavedFiltersService,
  search: SearchService,
  sessions: SessionsService,
  signInSettings: SignInSettingsService,
  signatureIdentities: SignatureIdentitiesService,
  signatureKeys: SignatureKeysService,
  subscriptions: SubscriptionSettingsService,
  vulnerabilities: VulnerabilitiesService,
} as const;
