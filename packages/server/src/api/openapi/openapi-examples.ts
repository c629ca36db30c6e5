/** Bodies of requests that the API browser shows, as they are sent. */
import type { JsonObject } from "@bufbuild/protobuf";

/** Uids of an organization, and of resources below it. */
const GROUP = "c0ffee0123456789abcdef0123456789abcdef01";
const IDENTITY = `${GROUP}/1a2b3c4d5e6f7a8b`;
const ROLE = `${GROUP}/8b7a6f5e4d3c2b1a`;

/** By the full name of the operation. */
export const examples: ReadonlyMap<string, JsonObject> = new Map<string, JsonObject>([
  ["platform.iam.v2.GroupsService.CreateGroup", { name: "web-shop", description: "What the web shop builds" }],
  ["platform.iam.v2.GroupsService.UpdateGroup", { description: "What the web shop builds and runs" }],
  [
    "platform.iam.v2.IdentitiesService.CreateIdentity",
    {
      name: "github-actions",
      description: "Builds of the main branch",
      claimMatch: { issuer: "https://token.actions.githubusercontent.com", subject: "repo:acme/web-shop:ref:refs/heads/main" },
    },
  ],
  [
    "platform.iam.v2.RolesService.CreateRole",
    { name: "reader", description: "Reads groups and images", capabilities: ["CAP_IAM_GROUPS_LIST", "CAP_REPO_LIST"] },
  ],
  ["platform.iam.v2.RoleBindingsService.CreateRoleBinding", { identityUid: IDENTITY, roleUid: ROLE }],
  ["platform.iam.v2.GroupInvitesService.CreateGroupInvite", { roleUid: ROLE, ttl: "86400s", singleUse: true }],
  ["platform.registry.v2.ReposService.CreateRepo", { name: "storefront", description: "The shop's web server" }],
  ["platform.events.v2.SubscriptionsService.CreateSubscription", { sink: "https://hooks.acme.example/holt" }],
  ["holt.v1.PullTokensService.CreatePullToken", { name: "edge-cluster", rights: ["RIGHT_IMAGES_PULL"], ttl: "2592000s" }],
  ["holt.v1.ImportsService.CreateImport", { kind: "IMPORT_KIND_ADVISORIES", fileName: "osv.json" }],
  [
    "platform.vulnerabilities.v1.Advisories.Create",
    {
      parentId: GROUP,
      advisory: { artifactType: "apk", artifactName: "openssl", aliases: ["CVE-2026-9001"], events: [{ detection: { manual: {} } }] },
    },
  ],
]);
