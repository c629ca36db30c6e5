/** Defines the roles that every installation has. Storing them, and protecting them from changes, happens elsewhere. */
import { createHash } from "node:crypto";
import { Capability } from "@holt/api/gen/platform/capabilities/capabilities_pb.ts";

export interface BuiltInRole {
  /** The same in every installation, so that configuration can be shared between installations. */
  readonly uid: string;
  readonly name: string;
  readonly description: string;
  /** Without duplicates, sorted by number. */
  readonly capabilities: readonly Capability[];
}

// Capability bundles that roles are composed of. Order and duplicates do not matter.

const registryPull: readonly Capability[] = [
  Capability.CAP_IAM_GROUPS_LIST,
  Capability.CAP_TENANT_RECORD_SIGNATURES_LIST,
  Capability.CAP_TENANT_SBOMS_LIST,
  Capability.CAP_TENANT_VULN_REPORTS_LIST,
  Capability.CAP_REPO_BLOBS_GET,
  Capability.CAP_REPO_LIST,
  Capability.CAP_MANIFEST_LIST,
  Capability.CAP_TAG_LIST,
  Capability.CAP_MANIFEST_METADATA_LIST,
  Capability.CAP_REFERRERS_LIST,
];

const repoWrite: readonly Capability[] = [Capability.CAP_REPO_CREATE, Capability.CAP_REPO_UPDATE, Capability.CAP_REPO_DELETE];

const registryPush: readonly Capability[] = [
  ...registryPull,
  ...repoWrite,
  Capability.CAP_IAM_GROUPS_CREATE,
  Capability.CAP_MANIFEST_CREATE,
  Capability.CAP_MANIFEST_UPDATE,
  Capability.CAP_MANIFEST_DELETE,
  Capability.CAP_TAG_CREATE,
  Capability.CAP_TAG_UPDATE,
  Capability.CAP_TAG_DELETE,
];

const apkPull: readonly Capability[] = [Capability.CAP_IAM_GROUPS_LIST, Capability.CAP_APK_LIST, Capability.CAP_APK_BLOBS_GET];

const apkPush: readonly Capability[] = [...apkPull, Capability.CAP_APK_CREATE, Capability.CAP_APK_DELETE];

/**
 * Creating a pull token needs these capabilities besides its pull role: it creates an identity and binds the role to
 * it.
 */
const pullTokenCreation: readonly Capability[] = [
  Capability.CAP_IAM_GROUPS_LIST,
  Capability.CAP_IAM_ROLES_LIST,
  Capability.CAP_IAM_ROLE_BINDINGS_CREATE,
  Capability.CAP_IAM_IDENTITY_CREATE,
];

const javaPull: readonly Capability[] = [Capability.CAP_LIBRARIES_ENTITLEMENTS_LIST, Capability.CAP_LIBRARIES_JAVA_LIST];
const javaPush: readonly Capability[] = [...javaPull, Capability.CAP_LIBRARIES_JAVA_CREATE];
const pythonPull: readonly Capability[] = [Capability.CAP_LIBRARIES_ENTITLEMENTS_LIST, Capability.CAP_LIBRARIES_PYTHON_LIST];
const pythonPush: readonly Capability[] = [...pythonPull, Capability.CAP_LIBRARIES_PYTHON_CREATE];
const javascriptPull: readonly Capability[] = [Capability.CAP_LIBRARIES_ENTITLEMENTS_LIST, Capability.CAP_LIBRARIES_JAVASCRIPT_LIST];
const javascriptPush: readonly Capability[] = [...javascriptPull, Capability.CAP_LIBRARIES_JAVASCRIPT_CREATE];
const dotnetPull: readonly Capability[] = [Capability.CAP_LIBRARIES_ENTITLEMENTS_LIST, Capability.CAP_LIBRARIES_DOTNET_LIST];
const dotnetPush: readonly Capability[] = [...dotnetPull, Capability.CAP_LIBRARIES_DOTNET_CREATE];
const goPull: readonly Capability[] = [Capability.CAP_LIBRARIES_ENTITLEMENTS_LIST, Capability.CAP_LIBRARIES_GO_LIST];
const goPush: readonly Capability[] = [...goPull, Capability.CAP_LIBRARIES_GO_CREATE];

const advisoriesView: readonly Capability[] = [Capability.CAP_ADVISORIES_LIST];
const advisoriesCreation: readonly Capability[] = [...advisoriesView, Capability.CAP_ADVISORIES_CREATE, Capability.CAP_ADVISORIES_UPDATE];
const advisoriesApproval: readonly Capability[] = [...advisoriesCreation, Capability.CAP_ADVISORIES_APPROVE];

const guardenerUser: readonly Capability[] = [
  ...registryPull,
  Capability.CAP_TERMS_LIST,
  Capability.CAP_GUARDENER_DFC_CONVERT,
  Capability.CAP_GUARDENER_ASSOCIATION_LIST,
  Capability.CAP_GUARDENER_ACTIONS_MIGRATE,
  Capability.CAP_GUARDENER_SCAN_LIST,
  Capability.CAP_GUARDENER_SCAN_GET,
];

const guardenerAdmin: readonly Capability[] = [...guardenerUser, Capability.CAP_TERMS_ACCEPT, Capability.CAP_GUARDENER_ASSOCIATION_MANAGE];

/** Reads everything that the console shows, but no image or package content. */
const consoleViewer: readonly Capability[] = [
  ...registryPull.filter((capability) => capability !== Capability.CAP_REPO_BLOBS_GET),
  Capability.CAP_IAM_GROUP_INVITES_LIST,
  Capability.CAP_IAM_ROLES_LIST,
  Capability.CAP_IAM_ROLE_BINDINGS_LIST,
  Capability.CAP_IAM_ACCOUNT_ASSOCIATIONS_LIST,
  Capability.CAP_IAM_IDENTITY_LIST,
  Capability.CAP_IAM_IDENTITY_PROVIDERS_LIST,
  Capability.CAP_EVENTS_SUBSCRIPTION_LIST,
  Capability.CAP_APK_LIST,
  Capability.CAP_VERSION_LIST,
  Capability.CAP_VULN_REPORT_LIST,
  Capability.CAP_BUILD_REPORT_LIST,
  Capability.CAP_REGISTRY_ENTITLEMENTS_LIST,
  Capability.CAP_REGISTRY_SETTINGS_LIST,
  Capability.CAP_REGISTRY_OVERLAYS_LIST,
  Capability.CAP_LIBRARIES_ENTITLEMENTS_LIST,
  Capability.CAP_LIBRARIES_ARTIFACTS_LIST,
  Capability.CAP_LIBRARIES_CACHE_LIST,
  Capability.CAP_LIBRARIES_AWS_MARKETPLACE_SUBSCRIPTIONS_LIST,
  Capability.CAP_LIBRARIES_REQUEST_GROUPS_LIST,
  Capability.CAP_LIBRARIES_REMOTE_REGISTRIES_LIST,
  Capability.CAP_ADVISORIES_LIST,
  Capability.CAP_REGISTRY_DEPLOYMENTS_LIST,
  Capability.CAP_POLICIES_POLICY_LIST,
  Capability.CAP_POLICIES_BINDING_LIST,
  Capability.CAP_POLICIES_DECISION_LIST,
  Capability.CAP_POLICIES_OVERRIDE_LIST,
  Capability.CAP_PACKAGES_ENTITLEMENTS_LIST,
  Capability.CAP_GUARDENER_ENTITLEMENT_LIST,
  Capability.CAP_GUARDENER_SCAN_LIST,
  Capability.CAP_GUARDENER_SCAN_GET,
  Capability.CAP_SKILLS_ENTITLEMENTS_LIST,
  Capability.CAP_SKILLS_LIST,
  Capability.CAP_LIBRARIES_POLICY_LIST,
  Capability.CAP_LIBRARIES_POLICY_BINDING_LIST,
  Capability.CAP_LIBRARIES_POLICY_BLOCK_EVENT_LIST,
  Capability.CAP_ACTIONS_LIST,
];

const viewer: readonly Capability[] = [...consoleViewer, ...registryPull, ...apkPull, ...guardenerUser];

const limitedOwner: readonly Capability[] = [...viewer, Capability.CAP_IAM_IDENTITY_CREATE, Capability.CAP_IAM_ROLE_BINDINGS_CREATE];

const editor: readonly Capability[] = [
  ...viewer,
  ...repoWrite,
  Capability.CAP_EVENTS_SUBSCRIPTION_CREATE,
  Capability.CAP_EVENTS_SUBSCRIPTION_UPDATE,
  Capability.CAP_EVENTS_SUBSCRIPTION_DELETE,
  Capability.CAP_REGISTRY_OVERLAYS_EDIT,
  Capability.CAP_LIBRARIES_REQUEST_GROUPS_CREATE,
  Capability.CAP_LIBRARIES_REQUEST_GROUPS_UPDATE,
  Capability.CAP_LIBRARIES_REQUEST_GROUPS_DELETE,
  Capability.CAP_LIBRARIES_REQUEST_GROUPS_ITEMS_UPDATE,
];

/** All capabilities that a user can hold; internal capabilities are left out. */
const owner: readonly Capability[] = [
  ...editor,
  ...registryPush,
  ...apkPush,
  ...pullTokenCreation,
  ...javaPush,
  ...pythonPush,
  ...javascriptPush,
  ...dotnetPush,
  ...goPush,
  ...guardenerAdmin,
  Capability.CAP_IAM_GROUPS_UPDATE,
  Capability.CAP_IAM_GROUPS_DELETE,
  Capability.CAP_IAM_GROUP_INVITES_CREATE,
  Capability.CAP_IAM_GROUP_INVITES_DELETE,
  Capability.CAP_IAM_ROLES_CREATE,
  Capability.CAP_IAM_ROLES_UPDATE,
  Capability.CAP_IAM_ROLES_DELETE,
  Capability.CAP_IAM_ROLE_BINDINGS_UPDATE,
  Capability.CAP_IAM_ROLE_BINDINGS_DELETE,
  Capability.CAP_IAM_ACCOUNT_ASSOCIATIONS_CREATE,
  Capability.CAP_IAM_ACCOUNT_ASSOCIATIONS_UPDATE,
  Capability.CAP_IAM_ACCOUNT_ASSOCIATIONS_DELETE,
  Capability.CAP_IAM_IDENTITY_UPDATE,
  Capability.CAP_IAM_IDENTITY_DELETE,
  Capability.CAP_IAM_IDENTITY_PROVIDERS_CREATE,
  Capability.CAP_IAM_IDENTITY_PROVIDERS_UPDATE,
  Capability.CAP_IAM_IDENTITY_PROVIDERS_DELETE,
  Capability.CAP_IAM_SESSIONS_LIST,
  Capability.CAP_IAM_SESSIONS_DELETE,
  Capability.CAP_IAM_SCIM_MANAGE,
  Capability.CAP_PUBLIC_CONTENT_CREATE,
  Capability.CAP_PUBLIC_CONTENT_UPDATE,
  Capability.CAP_PUBLIC_CONTENT_LIST,
  Capability.CAP_PUBLIC_CONTENT_DELETE,
  Capability.CAP_IAM_ACCOUNTS_RECOVER,
  Capability.CAP_IAM_ACCOUNTS_DISABLE,
  Capability.CAP_AUDIT_LIST,
  Capability.CAP_VULN_REPORT_CREATE,
  Capability.CAP_VULN_CREATE,
  Capability.CAP_REGISTRY_ENTITLEMENTS_IMAGES_ADD,
  Capability.CAP_REGISTRY_ENTITLEMENTS_IMAGES_REMOVE,
  Capability.CAP_REGISTRY_ENTITLEMENTS_IMAGES_SWAP,
  Capability.CAP_LIBRARIES_ENTITLEMENTS_CREATE,
  Capability.CAP_LIBRARIES_ENTITLEMENTS_DELETE,
  Capability.CAP_LIBRARIES_CACHE_INVALIDATE,
  Capability.CAP_LIBRARIES_AWS_MARKETPLACE_SUBSCRIPTIONS_CREATE,
  Capability.CAP_LIBRARIES_AWS_MARKETPLACE_SUBSCRIPTIONS_UPDATE,
  Capability.CAP_LIBRARIES_REQUEST_GROUPS_SUBMIT,
  Capability.CAP_LIBRARIES_REMOTE_REGISTRIES_CREATE,
  Capability.CAP_LIBRARIES_REMOTE_REGISTRIES_DELETE,
  Capability.CAP_POLICIES_POLICY_CREATE,
  Capability.CAP_POLICIES_POLICY_UPDATE,
  Capability.CAP_POLICIES_POLICY_DELETE,
  Capability.CAP_POLICIES_BINDING_CREATE,
  Capability.CAP_POLICIES_BINDING_UPDATE,
  Capability.CAP_POLICIES_BINDING_DELETE,
  Capability.CAP_POLICIES_OVERRIDE_CREATE,
  Capability.CAP_POLICIES_OVERRIDE_DELETE,
  Capability.CAP_REPO_CHECK_POLICIES,
  Capability.CAP_MCP_TOOL_CALL,
  Capability.CAP_SKILLS_PUBLISH,
  Capability.CAP_SKILLS_ENTITLEMENTS_CREATE,
  Capability.CAP_SKILLS_ENTITLEMENTS_DELETE,
  Capability.CAP_SKILLS_HARDEN_READ,
  Capability.CAP_SKILLS_HARDEN_WRITE,
  Capability.CAP_SKILLS_HARDEN_CANCEL,
  Capability.CAP_LIBRARIES_POLICY_CREATE,
  Capability.CAP_LIBRARIES_POLICY_UPDATE,
  Capability.CAP_LIBRARIES_POLICY_DELETE,
  Capability.CAP_LIBRARIES_POLICY_BINDING_CREATE,
  Capability.CAP_LIBRARIES_POLICY_BINDING_UPDATE,
  Capability.CAP_LIBRARIES_POLICY_BINDING_DELETE,
];

export const builtInRoles: readonly BuiltInRole[] = [
  defineRole("owner", "Owner", owner),
  defineRole("editor", "Editor", editor),
  // The documented uid of this role.
  { ...defineRole("viewer", "Viewer", viewer), uid: "63921b2c44617e3f2603851537be0123af4a57d7" },
  defineRole("limited_owner", "Limited Owner", limitedOwner),
  defineRole("console_viewer", "Console Viewer", consoleViewer),
  defineRole("registry.pull", "Registry Pull", registryPull),
  defineRole("registry.push", "Registry Push", registryPush),
  defineRole("registry.pull_token_creator", "Registry Pull Token Creator", [...pullTokenCreation, ...registryPull, ...apkPull]),
  defineRole("apk.pull", "APK Pull", apkPull),
  defineRole("apk.push", "APK Push", apkPush),
  defineRole("libraries.java.pull", "Java Libraries Pull", javaPull),
  defineRole("libraries.java.push", "Java Libraries Push", javaPush),
  defineRole("libraries.java.pull_token_creator", "Java Libraries Pull Token Creator", [...pullTokenCreation, ...javaPull]),
  defineRole("libraries.python.pull", "Python Libraries Pull", pythonPull),
  defineRole("libraries.python.push", "Python Libraries Push", pythonPush),
  defineRole("libraries.python.pull_token_creator", "Python Libraries Pull Token Creator", [...pullTokenCreation, ...pythonPull]),
  defineRole("libraries.javascript.pull", "JavaScript Libraries Pull", javascriptPull),
  defineRole("libraries.javascript.push", "JavaScript Libraries Push", javascriptPush),
  defineRole("libraries.javascript.pull_token_creator", "JavaScript Libraries Pull Token Creator", [
    ...pullTokenCreation,
    ...javascriptPull,
  ]),
  defineRole("libraries.dotnet.pull", ".NET Libraries Pull", dotnetPull),
  defineRole("libraries.dotnet.push", ".NET Libraries Push", dotnetPush),
  defineRole("libraries.go.pull", "Go Libraries Pull", goPull),
  defineRole("libraries.go.push", "Go Libraries Push", goPush),
  defineRole("guardener.user", "Guardener User", guardenerUser),
  defineRole("guardener.admin", "Guardener Admin", guardenerAdmin),
  defineRole("advisories.viewer", "Advisories Viewer", advisoriesView),
  defineRole("advisories.creator", "Advisories Creator", advisoriesCreation),
  defineRole("advisories.approver", "Advisories Approver", advisoriesApproval),
  defineRole("advisories.admin", "Advisories Admin", [...advisoriesApproval, Capability.CAP_ADVISORIES_DELETE]),
  defineRole("actions.viewer", "Actions Viewer", [Capability.CAP_ACTIONS_LIST]),
  defineRole("argos.osv.reader", "Argos OSV Reader", [Capability.CAP_ARGOS_OSV_READ]),
];

function defineRole(name: string, title: string, capabilities: readonly Capability[]): BuiltInRole {
  return {
    uid: createHash("sha256").update(`builtin-role:${name}`).digest("hex").slice(0, 40),
    name,
    description: `${title} Role (built-in)`,
    capabilities: [...new Set(capabilities)].sort((a, b) => a - b),
  };
}
