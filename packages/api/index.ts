// Lists the services of the contract, its annotations, and the names and bits of capabilities. Messages are imported from gen/ directly.
import { type DescEnumValue, type DescService, getOption } from "@bufbuild/protobuf";
import { AccessService } from "./gen/holt/v1/access_pb.ts";
import { AccountLinksService } from "./gen/holt/v1/account_links_pb.ts";
import { AccountsService } from "./gen/holt/v1/accounts_pb.ts";
import { AdvisoryMirrorsService } from "./gen/holt/v1/advisory_mirrors_pb.ts";
import { AdvisoryPreviewsService } from "./gen/holt/v1/advisory_previews_pb.ts";
import { AttentionService } from "./gen/holt/v1/attention_pb.ts";
import { AuditService } from "./gen/holt/v1/audit_pb.ts";
import { DeliveriesService } from "./gen/holt/v1/deliveries_pb.ts";
import { EndOfLifeService } from "./gen/holt/v1/end_of_life_pb.ts";
import { EventsService } from "./gen/holt/v1/events_pb.ts";
import { ImageContentsService } from "./gen/holt/v1/image_contents_pb.ts";
import { ImagePackagesService } from "./gen/holt/v1/image_packages_pb.ts";
import { ImageReferrersService } from "./gen/holt/v1/image_referrers_pb.ts";
import { ImportsService } from "./gen/holt/v1/imports_pb.ts";
import { LibraryArtifactsService } from "./gen/holt/v1/library_artifacts_pb.ts";
import { MembershipsService } from "./gen/holt/v1/memberships_pb.ts";
import { PublicContentService } from "./gen/holt/v1/public_content_pb.ts";
import { PullRecordingsService } from "./gen/holt/v1/pull_recordings_pb.ts";
import { PullTokensService } from "./gen/holt/v1/pull_tokens_pb.ts";
import { PythonProjectsService } from "./gen/holt/v1/python_projects_pb.ts";
import { ResourceLimitsService } from "./gen/holt/v1/resource_limits_pb.ts";
import { SavedFiltersService } from "./gen/holt/v1/saved_filters_pb.ts";
import { SearchService } from "./gen/holt/v1/search_pb.ts";
import { SessionsService } from "./gen/holt/v1/sessions_pb.ts";
import { SignInSettingsService } from "./gen/holt/v1/sign_in_settings_pb.ts";
import { SignatureIdentitiesService } from "./gen/holt/v1/signature_identities_pb.ts";
import { SignatureKeysService } from "./gen/holt/v1/signature_keys_pb.ts";
import { SubscriptionSettingsService } from "./gen/holt/v1/subscriptions_pb.ts";
import { VulnerabilitiesService } from "./gen/holt/v1/vulnerabilities_pb.ts";
import { SecurityAdvisory as SecurityAdvisoryV1 } from "./gen/platform/advisory/v1/security_advisories_pb.ts";
import { SecurityAdvisoryService } from "./gen/platform/advisory/v2/security_advisories_pb.ts";
import { Auth } from "./gen/platform/auth/v1/auth_pb.ts";
import { bit, type Capability, CapabilitySchema, internal_only, name } from "./gen/platform/capabilities/capabilities_pb.ts";
import { Identities as EventIdentitiesV1 } from "./gen/platform/events/v1/identities_pb.ts";
import { Subscriptions as SubscriptionsV1 } from "./gen/platform/events/v1/subscriptions_pb.ts";
import { SubscriptionsService } from "./gen/platform/events/v2/subscriptions_pb.ts";
import { GroupAccountAssociations as GroupAccountAssociationsV1 } from "./gen/platform/iam/v1/account_associations_pb.ts";
import { ExternalGroupRoleMappings as ExternalGroupRoleMappingsV1 } from "./gen/platform/iam/v1/external_group_role_mappings_pb.ts";
import { GroupInvites as GroupInvitesV1 } from "./gen/platform/iam/v1/group_invites_pb.ts";
import { Groups as GroupsV1 } from "./gen/platform/iam/v1/groups_pb.ts";
import { Identities as IdentitiesV1 } from "./gen/platform/iam/v1/identities_pb.ts";
import { IdentityProviders as IdentityProvidersV1 } from "./gen/platform/iam/v1/identity_providers_pb.ts";
import { RoleBindings as RoleBindingsV1 } from "./gen/platform/iam/v1/role_bindings_pb.ts";
import { Roles as RolesV1 } from "./gen/platform/iam/v1/roles_pb.ts";
import { Terms as TermsV1 } from "./gen/platform/iam/v1/terms_pb.ts";
import { AccountAssociationsService } from "./gen/platform/iam/v2/account_associations_pb.ts";
import { ExternalGroupRoleMappingsService } from "./gen/platform/iam/v2/external_group_role_mappings_pb.ts";
import { GroupInvitesService } from "./gen/platform/iam/v2/group_invites_pb.ts";
import { GroupsService } from "./gen/platform/iam/v2/groups_pb.ts";
import { IdentitiesService } from "./gen/platform/iam/v2/identities_pb.ts";
import { IdentityProvidersService } from "./gen/platform/iam/v2/identity_providers_pb.ts";
import { RoleBindingsService } from "./gen/platform/iam/v2/role_bindings_pb.ts";
import { RolesService } from "./gen/platform/iam/v2/roles_pb.ts";
import { TermsService } from "./gen/platform/iam/v2/terms_pb.ts";
import { Artifacts as ArtifactsV1 } from "./gen/platform/libraries/v1/artifacts_pb.ts";
import { AWSMarketplaceSubscriptions as AWSMarketplaceSubscriptionsV1 } from "./gen/platform/libraries/v1/aws_marketplace_subscriptions_pb.ts";
import { Entitlements as LibraryEntitlementsV1 } from "./gen/platform/libraries/v1/entitlements_pb.ts";
import {
  LibraryPolicies as LibraryPoliciesV1,
  LibraryPolicyBindings as LibraryPolicyBindingsV1,
  LibraryPolicyBlockEvents as LibraryPolicyBlockEventsV1,
} from "./gen/platform/libraries/v1/library_policies_pb.ts";
import { Malware as MalwareV1 } from "./gen/platform/libraries/v1/malware_pb.ts";
import { NpmPackages as NpmPackagesV1 } from "./gen/platform/libraries/v1/npm_packages_pb.ts";
import { ResolutionCache as ResolutionCacheV1 } from "./gen/platform/libraries/v1/resolution_cache_pb.ts";
import { ArtifactsService } from "./gen/platform/libraries/v2/artifacts_pb.ts";
import { SecurityTokenService } from "./gen/platform/oidc/v1/security_token_service_pb.ts";
import { PingService as PingServiceV1 } from "./gen/platform/ping/v1/ping_pb.ts";
import { PingService } from "./gen/platform/ping/v2/ping_pb.ts";
import { Apko as ApkoV1 } from "./gen/platform/registry/v1/apko_pb.ts";
import { Charts as ChartsV1 } from "./gen/platform/registry/v1/charts_pb.ts";
import { Entitlements as RegistryEntitlementsV1 } from "./gen/platform/registry/v1/entitlements_pb.ts";
import { Policies as PoliciesV1 } from "./gen/platform/registry/v1/policies_pb.ts";
import { Registry as RegistryV1 } from "./gen/platform/registry/v1/registry_pb.ts";
import { Vulnerabilities as VulnerabilitiesV1 } from "./gen/platform/registry/v1/vulnerabilities_pb.ts";
import { ImagesService } from "./gen/platform/registry/v2/images_pb.ts";
import { ReposService } from "./gen/platform/registry/v2/repos_pb.ts";
import { TagsService } from "./gen/platform/registry/v2/tags_pb.ts";
import { Advisories as AdvisoriesV1 } from "./gen/platform/vulnerabilities/v1/advisories_pb.ts";
import { AdvisoriesService } from "./gen/platform/vulnerabilities/v2/advisories_pb.ts";

export { http } from "./gen/google/api/annotations_pb.ts";
export { field_behavior as fieldBehavior } from "./gen/google/api/field_behavior_pb.ts";
export { events, iam, iam_scope as iamScope, mcp } from "./gen/platform/annotations/annotations_pb.ts";
export {
  bit as capabilityBitOption,
  deprecated as capabilityDeprecatedOption,
  internal_only as capabilityInternalOnlyOption,
  name as capabilityNameOption,
} from "./gen/platform/capabilities/capabilities_pb.ts";

/** Every service of the contract in all versions, including Holt's own (holt.v1). Excludes the standard health and reflection services. */
export const services: readonly DescService[] = [
  AccountAssociationsService,
  ExternalGroupRoleMappingsService,
  GroupInvitesService,
  GroupsService,
  IdentitiesService,
  IdentityProvidersService,
  RoleBindingsService,
  RolesService,
  TermsService,
  ImagesService,
  ReposService,
  TagsService,
  AdvisoriesService,
  ArtifactsService,
  SecurityAdvisoryService,
  SubscriptionsService,
  PingService,
  Auth,
  SecurityTokenService,
  PingServiceV1,
  AdvisoriesV1,
  SecurityAdvisoryV1,
  GroupAccountAssociationsV1,
  ExternalGroupRoleMappingsV1,
  GroupInvitesV1,
  GroupsV1,
  IdentitiesV1,
  IdentityProvidersV1,
  RoleBindingsV1,
  RolesV1,
  TermsV1,
  EventIdentitiesV1,
  SubscriptionsV1,
  ArtifactsV1,
  AWSMarketplaceSubscriptionsV1,
  LibraryEntitlementsV1,
  LibraryPoliciesV1,
  LibraryPolicyBindingsV1,
  LibraryPolicyBlockEventsV1,
  MalwareV1,
  NpmPackagesV1,
  ResolutionCacheV1,
  ApkoV1,
  ChartsV1,
  RegistryEntitlementsV1,
  PoliciesV1,
  RegistryV1,
  VulnerabilitiesV1,
  AccessService,
  AccountLinksService,
  AccountsService,
  AuditService,
  DeliveriesService,
  EndOfLifeService,
  EventsService,
  ImagePackagesService,
  ImageContentsService,
  ImportsService,
  LibraryArtifactsService,
  AdvisoryMirrorsService,
  AdvisoryPreviewsService,
  AttentionService,
  MembershipsService,
  PublicContentService,
  PullTokensService,
  PullRecordingsService,
  PythonProjectsService,
  SavedFiltersService,
  SearchService,
  SessionsService,
  SignatureIdentitiesService,
  ResourceLimitsService,
  SignInSettingsService,
  SignatureKeysService,
  ImageReferrersService,
  SubscriptionSettingsService,
  VulnerabilitiesService,
];

/** All capabilities except UNKNOWN, which has neither a name nor a bit. */
const capabilityValues: readonly DescEnumValue[] = CapabilitySchema.values.filter((value) => value.number !== 0);
const names = new Map(capabilityValues.map((value) => [value.number, getOption(value, name)]));
const bits = new Map(capabilityValues.map((value) => [value.number, getOption(value, bit)]));
const internalOnly = new Set(capabilityValues.filter((value) => getOption(value, internal_only)).map((value) => value.number));

/** Maps the string name ("groups.list") to the number, for every capability except UNKNOWN. */
export const capabilityByName: ReadonlyMap<string, Capability> = new Map(
  capabilityValues.map((value) => [getOption(value, name), value.number as Capability]),
);

/** The string name ("groups.list"). Throws if the number is not a capability. */
export function capabilityName(capability: number): string {
  return requireKnown(names.get(capability), capability);
}

/** The position in a token's bit set. Throws if the number is not a capability. */
export function capabilityBit(capability: number): number {
  return requireKnown(bits.get(capability), capability);
}

/** Whether only the platform itself may hold it. False if the number is not a capability. */
export function isInternalOnly(capability: number): boolean {
  return internalOnly.has(capability);
}

function requireKnown<T>(value: T | undefined, capability: number): T {
  if (value === undefined) throw new Error(`unknown capability number ${capability}`);
  return value;
}
