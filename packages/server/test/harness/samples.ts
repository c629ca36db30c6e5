/** One sample of every implemented resource and of every form it has: how to make one, what to change of it, and which filter finds it alone. */
import {
  type DescField,
  type DescMessage,
  type DescMethodUnary,
  type DescService,
  getOption,
  hasOption,
  type JsonObject,
  type JsonValue,
} from "@bufbuild/protobuf";
import { fieldBehavior, iam } from "@holt/api";
import { FieldBehavior } from "@holt/api/gen/google/api/field_behavior_pb.ts";
import { AdvisoryMirrorsService } from "@holt/api/gen/holt/v1/advisory_mirrors_pb.ts";
import { Capability } from "@holt/api/gen/platform/capabilities/capabilities_pb.ts";
import { SubscriptionsService } from "@holt/api/gen/platform/events/v2/subscriptions_pb.ts";
import { AccountAssociationsService } from "@holt/api/gen/platform/iam/v2/account_associations_pb.ts";
import { ExternalGroupRoleMappingsService } from "@holt/api/gen/platform/iam/v2/external_group_role_mappings_pb.ts";
import { GroupInvitesService } from "@holt/api/gen/platform/iam/v2/group_invites_pb.ts";
import { GroupsService } from "@holt/api/gen/platform/iam/v2/groups_pb.ts";
import { IdentitiesService, ServicePrincipal } from "@holt/api/gen/platform/iam/v2/identities_pb.ts";
import { IdentityProvidersService } from "@holt/api/gen/platform/iam/v2/identity_providers_pb.ts";
import { RoleBindingsService } from "@holt/api/gen/platform/iam/v2/role_bindings_pb.ts";
import { RolesService } from "@holt/api/gen/platform/iam/v2/roles_pb.ts";
import { ReposService } from "@holt/api/gen/platform/registry/v2/repos_pb.ts";
import { TagsService } from "@holt/api/gen/platform/registry/v2/tags_pb.ts";
import { advisoryMirrors } from "../../src/advisories/mirrors/mirror-resource.ts";
import type { Resource } from "../../src/api/resource/define.ts";
import type { ResourceTableName } from "../../src/db/schema.ts";
import { subscriptions } from "../../src/events/api/subscriptions.ts";
import { accountAssociations } from "../../src/iam/api/account-associations.ts";
import { externalGroupRoleMappings } from "../../src/iam/api/external-group-role-mappings.ts";
import { groupInvites } from "../../src/iam/api/group-invites.ts";
import { groups } from "../../src/iam/api/groups.ts";
import { identities } from "../../src/iam/api/identities.ts";
import { identityProviders } from "../../src/iam/api/identity-provider-resource.ts";
import { roleBindings } from "../../src/iam/api/role-bindings.ts";
import { roles } from "../../src/iam/api/roles.ts";
import { parentOf, rootOf, uidFromText } from "../../src/lib/uid.ts";
import { repos, tags } from "../../src/registry/resources.ts";
import type { HttpAnswer } from "./clients.ts";
import type { ServerOptions } from "./harness.ts";
import { startWorld, type World } from "./world.ts";

export interface Sample {
  readonly title: string;
  readonly kind: string;
  readonly schema: DescMessage;
  readonly table: ResourceTableName;
  readonly service: DescService;
  /** What it is made in. */
  readonly parentKind: "Group" | "Organization" | "IdentityProvider" | "Repo";
  /** Several of them in one place may have the same name; without it, each must have its own. */
  readonly sharesNames: boolean;
  /** Its uid is that of its group, which has one at most. */
  readonly hasUidOfGroup: boolean;
  /** As `order_by` says it. */
  readonly defaultOrder: string;
  /** Set where it can neither be updated nor made again under its name. */
  readonly isImmutable: boolean;
  /** Texts that Create alone answers. */
  readonly shownOnce: readonly string[];
  /** What of the answer to Get is otherwise in lists, as names and values of JSON anywhere in it. */
  readonly otherInLists?: Readonly<Record<string, string>>;
  /** All that subscribers learn of it; left out where that is everything. */
  readonly told?: readonly string[];
  /** A resource that can be made in the place, in the form of REST; `name` is its name where it has one. */
  make(world: World, place: string, name: string): Promise<JsonObject>;
  /** Fields to which an update, or making it again, can set it, each unlike what `make` gives; none where it stays as it is. */
  change(world: World, place: string): Promise<JsonObject>;
  /** An update that anybody may make who may change it, and that leaves its name. */
  readonly smallChange: JsonObject;
  /** Parameters of a list that has this resource and none that another call of `make` with another name gave; none where lists have no such filter. */
  filter(made: JsonObject): JsonObject;
  /** The group to whose subscribers its events go. */
  audienceOf(uid: string): string;
}

/** What the resource's own definition says of it, and what most resources have in common. */
function define<R extends Resource>({ kind, schema, table, hasUidOfGroup, defaultOrder }: R, service: DescService) {
  return {
    kind,
    schema,
    table,
    service,
    hasUidOfGroup,
    defaultOrder,
    isImmutable: false,
    shownOnce: [],
    parentKind: "Group" as const,
    sharesNames: true,
    smallChange: { description: "later" },
    filter: byName,
    audienceOf: parentOf,
  };
}

/** The name is in it, so that two samples differ in nothing that a filter could confuse. */
function byName({ name = "" }: JsonObject): JsonObject {
  return { name };
}

function identitySample(form: string, relationship: JsonObject, changed: JsonObject): Sample {
  return {
    ...define(identities, IdentitiesService),
    title: `an identity with ${form}`,
    make: async (_world, _group, name) => ({
      name,
      description: "A robot.\n  It writes “é”, <b> & \\ too.",
      company: "acme",
      ...relationship,
    }),
    change: async () => ({ name: "renamed", description: "", company: "other", ...changed }),
  };
}

const claimMatch = {
  issuer: "https://issuer.example.com/",
  subject: "repo:acme/app",
  audience: "https://holt.test",
  claims: { z: "1", a: "2" },
  claimPatterns: { ref: "refs/heads/.*" },
};
const digest = (character: string) => `sha256:${character.repeat(64)}`;
const overlay = (text: string) => ({
  contents: { packages: [text], runtimeRepositories: [], runtimeKeyring: [] },
  environment: { TEXT: text },
  annotations: { "com.example.text": text },
});
/** Nobody listens there, which is found out at once. */
const oidc = {
  issuer: "http://127.0.0.1:1/idp",
  clientId: "holt",
  additionalScopes: ["profile", "email", "groups"],
  groupsClaim: "groups",
  correlationRule: "CORRELATION_RULE_SUB_EQUALS_EXTERNAL_ID",
  pkceEnabled: true,
};
const staticKeys = { issuer: "https://keys.example.com", subject: "robot", issuerKeys: "keys", audiences: ["holt"] };

export const samples: readonly Sample[] = [
  {
    ...define(groups, GroupsService),
    title: "a group",
    audienceOf: (uid) => uid,
    make: async (_world, _group, name) => ({ name, description: "Line one\n  line two" }),
    change: async () => ({ name: "renamed", description: "" }),
  },
  identitySample(
    "claim match",
    { claimMatch },
    { claimMatch: { issuerPattern: ".*", subjectPattern: "repo:.*", audiencePattern: "h.*", claims: {}, claimPatterns: {} } },
  ),
  identitySample("static keys", { staticKeys }, { staticKeys: { ...staticKeys, issuerKeys: "other", audiences: [] } }),
  identitySample(
    "AWS identity",
    { awsIdentity: { awsAccount: "012345678901", arn: "bar", userId: "foo" } },
    { awsIdentity: { awsAccount: "210987654321", arnPattern: "b.*", userIdPattern: "f.*" } },
  ),
  identitySample(
    "service principal",
    { servicePrincipal: "SERVICE_PRINCIPAL_INGESTER" },
    { servicePrincipal: "SERVICE_PRINCIPAL_COSIGNED" },
  ),
  {
    ...define(roles, RolesService),
    title: "a role",
    make: async (_world, _group, name) => ({ name, description: "", capabilities: ["CAP_IAM_GROUPS_LIST", "CAP_REPO_LIST"] }),
    change: async () => ({ name: "renamed", description: "Now it has one", capabilities: ["CAP_IAM_GROUPS_DELETE"] }),
  },
  {
    ...define(roleBindings, RoleBindingsService),
    title: "a role binding",
    sharesNames: false,
    smallChange: {},
    // Nobody has signed in as these users yet; a name is to a binding what its identity is.
    make: async (world, _group, name) => ({ identityUid: uidFromText(name), roleUid: await builtInRole(world, "viewer") }),
    change: async (world) => ({ identityUid: uidFromText("somebody else"), roleUid: await builtInRole(world, "editor") }),
    filter: ({ identityUid = "" }) => ({ identity: identityUid }),
  },
  {
    ...define(groupInvites, GroupInvitesService),
    title: "a group invite",
    isImmutable: true,
    shownOnce: ["code"],
    told: ["uid", "expirationTime"],
    make: async (world, _group, name) => ({
      roleUid: await builtInRole(world, "viewer"),
      email: `${name.replaceAll(" ", "")}@example.com`,
      ttl: "604800s",
      singleUse: true,
    }),
    change: async () => ({}),
    smallChange: {},
    filter: ({ keyId = "" }) => ({ keyId }),
  },
  {
    ...define(accountAssociations, AccountAssociationsService),
    title: "an account association",
    audienceOf: (uid) => uid,
    make: async (world, group, name) => ({
      name,
      description: "Line one\n  line two",
      amazon: { account: "012345678901" },
      chainguard: { serviceBindings: { CATALOG_SYNCER: await servicePrincipal(world, group, "CATALOG_SYNCER") } },
      github: { appInstallations: { "12": { installations: [{ installationId: "34", name: "acme" }] } } },
    }),
    change: async () => ({
      name: "renamed",
      description: "",
      amazon: { account: "109876543210" },
      google: { projectId: "acme", projectNumber: "123" },
      azure: { tenantId: "00000000-0000-0000-0000-00000000000a", clientIds: { scanner: "b" } },
    }),
  },
  {
    ...define(identityProviders, IdentityProvidersService),
    title: "an identity provider",
    parentKind: "Organization",
    otherInLists: { credentialState: "CREDENTIAL_STATE_UNSPECIFIED" },
    make: async (world, _organization, name) => ({
      name,
      description: "Line one\n  line two",
      defaultRole: await builtInRole(world, "viewer"),
      oidc,
    }),
    change: async (world) => ({
      name: "renamed",
      description: "",
      defaultRole: await builtInRole(world, "editor"),
      oidc: { ...oidc, issuer: `${oidc.issuer}/other`, clientId: "other", clientSecret: "", additionalScopes: [], groupsClaim: "" },
    }),
  },
  {
    ...define(externalGroupRoleMappings, ExternalGroupRoleMappingsService),
    title: "an external group role mapping",
    parentKind: "IdentityProvider",
    sharesNames: false,
    isImmutable: true,
    make: async (world, provider, name) => ({
      externalGroupId: `${name} “é”, <b> & \\`,
      roleUid: await builtInRole(world, "viewer"),
      scope: rootOf(provider),
    }),
    change: async () => ({}),
    smallChange: {},
    filter: () => ({}),
    // An identity provider is no group.
    audienceOf: rootOf,
  },
  {
    ...define(repos, ReposService),
    title: "a repo",
    sharesNames: false,
    make: async (_world, _group, name) => ({
      name,
      description: "An image of “é”, <b> & \\ too.",
      catalogTier: "CATALOG_TIER_FIPS",
      bundles: ["fips", "base", "fips"],
      aliases: ["b/image:1", "a:2"],
      activeTags: ["latest"],
      customOverlay: overlay("curl"),
    }),
    change: async () => ({
      name: "renamed",
      description: "",
      catalogTier: "CATALOG_TIER_BASE",
      bundles: ["ai"],
      aliases: [],
      activeTags: ["1.0", "latest"],
      customOverlay: overlay("wget"),
    }),
  },
  {
    ...define(repos, ReposService),
    title: "a repo that is synced from another",
    sharesNames: false,
    make: async (world, group, name) => ({ name, description: "", sync_config: { source: await sourceFor(world, group, name) } }),
    change: async (world, group) => ({
      name: "renamed",
      description: "Another source",
      sync_config: { source: await sourceFor(world, group, "other"), amazon: "eu-west-1" },
    }),
  },
  {
    ...define(subscriptions, SubscriptionsService),
    title: "a subscription",
    isImmutable: true,
    smallChange: {},
    make: async () => ({ sink: "https://sink.example.com:8443/hook?a=%C3%A9&b=<b>" }),
    change: async () => ({}),
    filter: () => ({}),
  },
  {
    ...define(tags, TagsService),
    title: "a tag",
    parentKind: "Repo",
    sharesNames: false,
    make: async (_world, _repo, name) => ({ name: name.replaceAll(" ", ""), digest: digest("a"), bundles: ["base"] }),
    change: async () => ({ digest: digest("b"), deprecated: true, bundles: [] }),
    smallChange: { deprecated: true },
    // A repo is no group.
    audienceOf: rootOf,
  },
  {
    ...define(advisoryMirrors, AdvisoryMirrorsService),
    title: "an advisory mirror",
    make: async (_world, _group, name) => ({
      name,
      // Nobody listens there, which is found out at once.
      url: "http://127.0.0.1:1/feed.zip?a=%C3%A9&b=<b>",
      kind: "IMPORT_KIND_ADVISORIES",
      interval: "3600s",
    }),
    change: async () => ({
      name: "renamed",
      url: "http://127.0.0.1:1/other.json",
      kind: "IMPORT_KIND_VULNERABILITIES",
      interval: "300.500s",
    }),
    smallChange: { interval: "7200s" },
  },
];

/** What an owner needs for these samples and has not by its role. */
const BESIDE_OWNER = [Capability.CAP_ADVISORIES_CREATE, Capability.CAP_ADVISORIES_UPDATE, Capability.CAP_ADVISORIES_DELETE];

/** A world whose owner may do with all samples what can be done with them. */
export async function startSampleWorld(options: Omit<ServerOptions, "clock"> = {}): Promise<World> {
  const world = await startWorld(options);
  await entitleOwner(world, world.orgUid);
  return world;
}

/** Lets the owner make all samples in the organization. */
export async function entitleOwner(world: World, organization: string): Promise<void> {
  await world.bind(world.owner.uid, await world.role(organization, BESIDE_OWNER), organization);
}

async function sourceFor(world: World, group: string, name: string): Promise<string> {
  const sources = await world.group(group, "sources");
  return (await world.must(ReposService.method.createRepo, { parent: sources, repo: { name } })).uid;
}

async function servicePrincipal(world: World, parent: string, principal: keyof typeof ServicePrincipal): Promise<string> {
  const relationship = { case: "servicePrincipal", value: ServicePrincipal[principal] } as const;
  return (await world.must(IdentitiesService.method.createIdentity, { parent, identity: { name: "service", relationship } })).uid;
}

/** One of each kind. */
export const resources: readonly Sample[] = [...new Map(samples.toReversed().map((sample) => [sample.kind, sample])).values()].toReversed();

export async function builtInRole(world: World, name: string): Promise<string> {
  const { roles } = await world.must(RolesService.method.listRoles, { name, uidp: { inRoot: true } });
  return roles[0]?.uid ?? "";
}

export type Verb = "Get" | "Create" | "Update" | "Delete" | "List";

/** The method `<verb><Kind>` of the sample's service; for List, the plural. */
export function methodOf(sample: Sample, verb: Verb): DescMethodUnary {
  const found = findMethod(sample, verb);
  if (found === undefined) throw new Error(`${sample.service.typeName} has no method to ${verb} a ${sample.kind}`);
  return found;
}

export function hasMethod(sample: Sample, verb: Verb): boolean {
  return findMethod(sample, verb) !== undefined;
}

function findMethod({ service, kind }: Sample, verb: Verb): DescMethodUnary | undefined {
  const found = service.methods.find(({ name }) => (verb === "List" ? name.startsWith(verb) : name === verb + kind));
  return found?.methodKind === "unary" ? (found as DescMethodUnary) : undefined;
}

/** What must be held to list all these resources. */
export function listingCapabilities(listed: readonly Sample[] = resources): Capability[] {
  return listed.flatMap((sample) => {
    const { mode } = getOption(methodOf(sample, "List"), iam);
    return mode.case === "enabled" ? mode.value.capabilities : [];
  });
}

/** The part of the contract that the resource belongs to: `iam`. */
export function domainOf({ service }: Sample): string {
  return service.typeName.split(".").at(-3) ?? "";
}

/** Path of the resource's collection over REST: `/iam/v2/groups`. */
export function collectionOf(sample: Sample): string {
  return `/${domainOf(sample)}/${sample.service.typeName.split(".").at(-2)}/${itemsOf(sample)}`;
}

/** Something new that the sample can be made in: in the group, mostly the group itself; or an organization, or in one. */
export async function placeFor(world: World, { parentKind }: Sample, group: string, name = "place"): Promise<string> {
  if (parentKind === "Group") return group;
  if (parentKind === "Repo") return (await world.must(ReposService.method.createRepo, { parent: group, repo: { name } })).uid;
  const organization = await world.group("", name);
  return parentKind === "Organization" ? organization : providerIn(world, organization, name);
}

/** An identity provider of the organization. */
export async function providerIn(world: World, organization: string, name = "provider", token?: string): Promise<string> {
  const body = { name, defaultRole: await builtInRole(world, "viewer"), oidc };
  return textOf(parse((await world.raw("POST", `/iam/v2/identityProviders/${organization}`, body, token)).text).uid);
}

/** The group that decides who may do what in the place. */
export function groupOf({ parentKind }: Sample, group: string, place: string): string {
  return parentKind === "Organization" || parentKind === "IdentityProvider" ? rootOf(place) : group;
}

/** As errors call it. */
export function parentKindOf({ parentKind }: Sample): string {
  return parentKind === "Organization" ? "Group" : parentKind;
}

/** Path over REST of the collection that the parents are in. */
export function parentCollectionOf({ parentKind }: Sample): string {
  return {
    Group: "/iam/v2/groups",
    Organization: "/iam/v2/groups",
    IdentityProvider: "/iam/v2/identityProviders",
    Repo: "/registry/v2/repos",
  }[parentKind];
}

/** A place for one more resource, in or below the given one. */
export async function placeForOne(world: World, { hasUidOfGroup }: Sample, place: string): Promise<string> {
  return hasUidOfGroup ? world.group(place) : place;
}

/** The filter that finds what `placeForOne` had a place for. */
export function filterFor({ hasUidOfGroup }: Sample, place: string): { descendantsOf: string } | { childrenOf: string } {
  return hasUidOfGroup ? { descendantsOf: place } : { childrenOf: place };
}

export function uidPatternIn({ hasUidOfGroup }: Sample, place: string): RegExp {
  return hasUidOfGroup ? new RegExp(`^${place}$`) : new RegExp(`^${place}/[0-9a-f]{16}$`);
}

/** What Create answered, as it is read later. */
export function asRead({ shownOnce }: Sample, text: string): string {
  return shownOnce.length === 0 ? text : JSON.stringify({ ...parse(text), ...Object.fromEntries(shownOnce.map((name) => [name, ""])) });
}

/** What Get answered, as lists show it. */
export function asListed({ otherInLists = {} }: Sample, text: string): string {
  return Object.entries(otherInLists).reduce(
    (json, [name, value]) => json.replace(new RegExp(`"${name}":"[^"]*"`), `"${name}":"${value}"`),
    text,
  );
}

/** Over REST. What cannot be updated is made again under its name, or stays as it is. */
export function changeTo(world: World, sample: Sample, made: JsonObject, change: JsonObject): Promise<HttpAnswer> {
  const uid = textOf(made.uid);
  if (sample.isImmutable) return world.raw("GET", `${collectionOf(sample)}/${uid}`);
  if (hasMethod(sample, "Update")) return world.raw("PATCH", `${collectionOf(sample)}/${uid}`, change);
  return world.raw("POST", `${collectionOf(sample)}/${parentOf(uid)}`, { ...made, ...change });
}

export function hasField({ schema }: Sample, jsonName: string): boolean {
  return schema.fields.some((field) => field.jsonName === jsonName);
}

/** Name of the field that holds a list's resources: `roleBindings`. */
export function itemsOf(sample: Sample): string {
  return methodOf(sample, "List").output.fields[0]?.jsonName ?? "";
}

/** Name of the field that holds the resource in its Create and Update requests: `roleBinding`. */
export function fieldOf({ kind }: Sample): string {
  return kind.charAt(0).toLowerCase() + kind.slice(1);
}

/** The fields that only the server fills. */
export function outputsOf({ schema }: Sample): readonly DescField[] {
  return schema.fields.filter(
    (field) => hasOption(field, fieldBehavior) && getOption(field, fieldBehavior).includes(FieldBehavior.OUTPUT_ONLY),
  );
}

/** For each of them a value that it can hold, but that no server would give. */
export function forgedOutputsOf(sample: Sample): JsonObject {
  return Object.fromEntries(outputsOf(sample).map((field) => [field.jsonName, forgedValue(field)]));
}

function forgedValue(field: DescField): JsonValue {
  if (field.fieldKind === "map") return { clusters: 1 };
  if (field.fieldKind === "enum") return 3;
  if (field.fieldKind === "message") return field.message.typeName.endsWith("Timestamp") ? "2000-01-01T00:00:00Z" : { name: "forged" };
  return "forged";
}

export function parse(text: string): JsonObject {
  return JSON.parse(text) as JsonObject;
}

export function textOf(value: JsonValue | undefined): string {
  return typeof value === "string" ? value : "";
}
