/** Static facts about the domain `iam`: tables, migrations, events. Every command loads this file, so keep its imports few. */
import { SearchHit_Kind } from "@holt/api/gen/holt/v1/search_pb.ts";
import { Capability } from "@holt/api/gen/platform/capabilities/capabilities_pb.ts";
import type { Domain } from "../api/domain.ts";
import { parentOf, rootOf } from "../lib/uid.ts";
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
import { signatureIdentities } from "./migrations/038-signature-identities.ts";
import { localAccounts } from "./migrations/040-local-accounts.ts";
import { mails } from "./migrations/041-mails.ts";
import { loginSessions } from "./migrations/042-login-sessions.ts";
import { publicContent } from "./migrations/043-public-content.ts";
import { signInSettings } from "./migrations/044-sign-in-settings.ts";
import { searchIndexes } from "./migrations/047-search-indexes.ts";
import { organizationLimits } from "./migrations/048-organization-limits.ts";
import { accountLinks } from "./migrations/050-account-links.ts";
import { sharedAddresses } from "./migrations/051-shared-addresses.ts";
import { savedFilters } from "./migrations/053-saved-filters.ts";
import { providersByClient } from "./migrations/062-providers-by-client.ts";
import { iamTables } from "./organization-tables.ts";
import "./tables.ts";

const ofGroup = ({ uid }: { uid: string }) => ({ subject: uid, group: uid });
const ofNamedGroup = ({ group }: { group: string }) => ofGroup({ uid: group });
/** Users decide about their memberships, and the organization is notified of it. */
const ofMembership = ({ uid, identityUid }: { uid: string; identityUid: string }) => ({ subject: identityUid, group: uid });
/** Only the person and the operator are notified of changes that the person makes. */
const ofPerson = ({ uid }: { uid: string }) => ({ subject: uid, group: "" });
const ofManagedAccount = ({ uid, organizationUid }: { uid: string; organizationUid: string }) => ({ subject: uid, group: organizationUid });
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
    signatureIdentities,
    localAccounts,
    mails,
    loginSessions,
    publicContent,
    signInSettings,
    searchIndexes,
    organizationLimits,
    accountLinks,
    sharedAddresses,
    savedFilters,
    providersByClient,
  ],
  organizationTables: iamTables,
  search: [
    { kind: SearchHit_Kind.GROUP, capability: Capability.CAP_IAM_GROUPS_LIST, table: "group", column: "name" },
    { kind: SearchHit_Kind.IDENTITY, capability: Capability.CAP_IAM_IDENTITY_LIST, table: "identity", column: "name" },
  ],
  countedRows: [
    { kind: "group", table: "group" },
    { kind: "identity", table: "identity" },
    { kind: "role", table: "role" },
    { kind: "role_binding", table: "role_binding" },
    { kind: "group_invite", table: "group_invite" },
    { kind: "identity_provider", table: "identity_provider" },
    { kind: "external_group_role_mapping", table: "external_group_role_mapping" },
    { kind: "account_association", table: "account_association", hasUidOfGroup: true },
    { kind: "public_content", table: "public_content", hasUidOfGroup: true },
    { kind: "pull_token", table: "pull_token" },
    { kind: "signature_identity", table: "signature_identity" },
  ],
  onGroupDelete: {
    blockedBy: [
      { table: "group", what: "child groups" },
      { table: "identity" },
      { table: "role" },
      { table: "identity_provider" },
      { table: "pull_token", what: "pull tokens" },
      { table: "signature_identity", what: "child signature identities" },
    ],
    alsoDeletes: [
      { table: "terms_acceptance", column: "org_uid" },
      { table: "access_request", column: "group_uid" },
      { table: "membership", column: "org_uid" },
      { table: "sign_in_settings", column: "org_uid" },
      { table: "account_link", column: "org_uid" },
      { table: "organization_limit", column: "org_uid" },
      { table: "saved_filter", column: "org_uid" },
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
    // Public content has the uid of its group or of its repository.
    "holt.v1.PublicContent": ofGroup,
    "holt.v1.DeletePublicContentRequest": ofGroup,
    "holt.v1.Membership": ofMembership,
    "holt.v1.SignInSettings": ofGroup,
    "holt.v1.ResourceLimits": ofGroup,
    "holt.v1.Session": ({ uid, organization: group }: { uid: string; organization: string }) => ({ subject: uid, group }),
    "holt.v1.EndSessionsResponse": ({ identityUid, organization: group }: { identityUid: string; organization: string }) => ({
      subject: identityUid,
      group,
    }),
    "holt.v1.AccountLink": ({ identityUid: subject, organizationUid: group }: { identityUid: string; organizationUid: string }) => ({
      subject,
      group,
    }),
    "holt.v1.Account": ofPerson,
    "holt.v1.RecoveryCodes": ofPerson,
    "holt.v1.AccountRecovery": ofManagedAccount,
    "holt.v1.AccountStatus": ofManagedAccount,
    "platform.iam.v1.AcceptTermsResponse": ofNamedGroup,
    "platform.iam.v2.AcceptTermsResponse": ofNamedGroup,
  },
};
