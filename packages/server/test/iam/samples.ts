/** Samples for the conformance suites: groups, identities, roles and everything else of IAM. */
import type { DescMethodUnary, JsonObject } from "@bufbuild/protobuf";
import { capabilityName } from "@holt/api";
import { AccessService } from "@holt/api/gen/holt/v1/access_pb.ts";
import { AccountLinksService } from "@holt/api/gen/holt/v1/account_links_pb.ts";
import { AccountsService } from "@holt/api/gen/holt/v1/accounts_pb.ts";
import { AttentionService } from "@holt/api/gen/holt/v1/attention_pb.ts";
import { MembershipsService } from "@holt/api/gen/holt/v1/memberships_pb.ts";
import { PublicContentService } from "@holt/api/gen/holt/v1/public_content_pb.ts";
import { PullToken_Right, PullTokensService } from "@holt/api/gen/holt/v1/pull_tokens_pb.ts";
import { ResourceLimitsService } from "@holt/api/gen/holt/v1/resource_limits_pb.ts";
import { SearchService } from "@holt/api/gen/holt/v1/search_pb.ts";
import { SessionsService } from "@holt/api/gen/holt/v1/sessions_pb.ts";
import { SignInSettingsService } from "@holt/api/gen/holt/v1/sign_in_settings_pb.ts";
import { SignatureIdentitiesService } from "@holt/api/gen/holt/v1/signature_identities_pb.ts";
import { Auth } from "@holt/api/gen/platform/auth/v1/auth_pb.ts";
import { Capability, CapabilitySchema } from "@holt/api/gen/platform/capabilities/capabilities_pb.ts";
import { Identities as EventIdentities } from "@holt/api/gen/platform/events/v1/identities_pb.ts";
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
import { SecurityTokenService } from "@holt/api/gen/platform/oidc/v1/security_token_service_pb.ts";
import { accountAssociations } from "../../src/iam/api/account-associations.ts";
import { externalGroupRoleMappings } from "../../src/iam/api/external-group-role-mappings.ts";
import { groupInvites } from "../../src/iam/api/group-invites.ts";
import { groups } from "../../src/iam/api/groups.ts";
import { identities } from "../../src/iam/api/identities.ts";
import { identityProviders } from "../../src/iam/api/identity-provider-resource.ts";
import { roleBindings } from "../../src/iam/api/role-bindings.ts";
import { roles } from "../../src/iam/api/roles.ts";
import { join } from "../../src/iam/joining/membership.ts";
import { publicContent } from "../../src/iam/public-content/public-content-resource.ts";
import { pullTokens } from "../../src/iam/pull-tokens/pull-token-resource.ts";
import { signatureIdentities } from "../../src/iam/signers/signature-identity.ts";
import { Code } from "../../src/lib/errors.ts";
import { isAtOrBelow, newUid, parentOf, rootOf, uidFromText } from "../../src/lib/uid.ts";
import { builtInRole, createServicePrincipal, providerIn, unreachableOidc } from "../harness/iam/iam.ts";
import { addLocalAccount, LOCAL_PASSWORD } from "../harness/iam/local-account.ts";
import { parse, textOf } from "../harness/json.ts";
import {
  createParent,
  createResource,
  defineSample,
  type EventSample,
  inGroup,
  type OperationSample,
  type ParentSample,
  type ResourceSample,
} from "../harness/samples.ts";
import type { VersionOneSample } from "../harness/samples-v1.ts";
import type { World } from "../harness/world.ts";

const inOrganization: ParentSample = { ...inGroup, onlyInOrganizations: true };

const inIdentityProvider: ParentSample = {
  kind: "IdentityProvider",
  collection: "/iam/v2/identityProviders",
  onlyInOrganizations: true,
  create: providerIn,
  groupOf: rootOf,
};

const claimMatch = {
  issuer: "https://issuer.example.com/",
  subject: "repo:acme/app",
  audience: "https://holt.test",
  claims: { z: "1", a: "2" },
  claimPatterns: { ref: "refs/heads/.*" },
};
const staticKeys = { issuer: "https://keys.example.com", subject: "robot", issuerKeys: "keys", audiences: ["holt"] };

/** Version 1 has no company, and names two of the relationships differently. */
const identityV1: VersionOneSample = {
  service: Identities,
  missing: ["company"],
  body: ({ staticKeys, servicePrincipal, company: _, ...rest }) => ({
    ...rest,
    ...(staticKeys !== undefined && { static: staticKeys }),
    ...(servicePrincipal !== undefined && { servicePrincipal: textOf(servicePrincipal).replace("SERVICE_PRINCIPAL_", "") }),
  }),
};

const roleV1: VersionOneSample = {
  service: Roles,
  body: ({ capabilities = [], ...rest }) => ({
    ...rest,
    capabilities: (capabilities as string[]).map((name) =>
      capabilityName(CapabilitySchema.values.find((each) => each.name === name)?.number ?? 0),
    ),
  }),
};

const roleBindingV1: VersionOneSample = {
  service: RoleBindings,
  body: ({ identityUid = "", roleUid = "" }) => ({ identity: identityUid, role: roleUid }),
};

function identitySample(form: string, relationship: JsonObject, changed: JsonObject): ResourceSample {
  return defineSample(identities, IdentitiesService, {
    title: `an identity with ${form}`,
    v1: identityV1,
    parent: inGroup,
    capabilityNoun: "identity",
    body: async (_world, _group, name) => ({
      name,
      description: "A robot.\n  It writes “é”, <b> & \\ too.",
      company: "acme",
      ...relationship,
    }),
    change: async () => ({ name: "renamed", description: "", company: "other", ...changed }),
    seenInRoot: async (world, viewer) => {
      const { reader } = world.store;
      const bindings = await reader.selectFrom("role_binding").select(["uid", "identity_uid as identityUid"]).execute();
      const memberships = await reader.selectFrom("membership").select(["identity_uid", "org_uid"]).where("state", "=", "joined").execute();
      const joined = new Set(memberships.map(({ identity_uid, org_uid }) => `${identity_uid} ${org_uid}`));
      const visible = bindings.filter(
        ({ uid, identityUid }) =>
          joined.has(`${identityUid} ${rootOf(uid)}`) && viewer.scopes.some((scope) => isAtOrBelow(parentOf(uid), scope)),
      );
      const bound = new Set(visible.map(({ identityUid }) => identityUid));
      return (uid) => uid === viewer.uid || bound.has(uid);
    },
  });
}

const mappingSample = defineSample(externalGroupRoleMappings, ExternalGroupRoleMappingsService, {
  title: "an external group role mapping",
  v1: { service: ExternalGroupRoleMappings, body: ({ roleUid = "", ...rest }) => ({ ...rest, roleUidp: roleUid }) },
  parent: inIdentityProvider,
  capabilityNoun: "identity_providers",
  sharesNames: false,
  isImmutable: true,
  ownFields: ["externalGroupId"],
  body: async (world, provider, name) => ({
    externalGroupId: `${name} “é”, <b> & \\`,
    roleUid: await builtInRole(world, "viewer"),
    scope: rootOf(provider),
  }),
  change: async () => ({}),
  smallChange: {},
  uniqueFilter: () => ({}),
  // Subscriptions belong to groups, and an identity provider is not a group.
  eventGroup: rootOf,
  eventExtensions: (uid) => ({ identityprovider: parentOf(uid) }),
});

export const resourceSamples: readonly ResourceSample[] = [
  defineSample(groups, GroupsService, {
    title: "a group",
    v1: { service: Groups, body: (body) => body },
    parent: inGroup,
    capabilityNoun: "groups",
    parentMayBeName: true,
    // Their defaults are those of a new group, but no update takes them back.
    keptFields: ["verified", "kind"],
    // Nobody can be subscribed to a deleted group.
    eventGroup: (uid, verb) => (verb === "Delete" ? parentOf(uid) : uid),
    body: async (_world, _group, name) => ({ name, description: "Line one\n  line two" }),
    change: async () => ({ name: "renamed", description: "" }),
  }),
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
  defineSample(roles, RolesService, {
    title: "a role",
    v1: roleV1,
    parent: inGroup,
    capabilityNoun: "roles",
    // Lists begin with the built-in roles; all others are ordered by uid.
    defaultOrder: "uid",
    body: async (_world, _group, name) => ({ name, description: "", capabilities: ["CAP_IAM_GROUPS_LIST", "CAP_REPO_LIST"] }),
    change: async () => ({ name: "renamed", description: "Now it has one", capabilities: ["CAP_IAM_GROUPS_DELETE"] }),
    // Everybody sees the built-in roles.
    seenInRoot: async () => () => true,
  }),
  defineSample(signatureIdentities, SignatureIdentitiesService, {
    title: "a signature identity",
    parent: inGroup,
    capabilityNoun: "policies.policy",
    sharesNames: false,
    body: async (_world, _group, name) => ({ name, description: "Signs “é” & <b>.", issuer: "https://ci.example.com", subject: "release" }),
    change: async () => ({ name: "renamed", description: "", issuer: "https://other.example.com", subject: "other" }),
  }),
  defineSample(roleBindings, RoleBindingsService, {
    title: "a role binding",
    v1: roleBindingV1,
    parent: inGroup,
    capabilityNoun: "role_bindings",
    sharesNames: false,
    deletesMissing: true,
    ownFields: ["identity", "identityUid"],
    derivedFields: { identityUid: "identity", roleUid: "role" },
    // The caller must hold all capabilities of the role.
    neededToUpdate: async (world) =>
      (await world.must(RolesService.method.getRole, { uid: await builtInRole(world, "viewer") })).capabilities,
    // These users have not signed in yet. A binding has no name: its identity distinguishes it.
    body: async (world, _group, name) => ({ identityUid: uidFromText(name), roleUid: await builtInRole(world, "viewer") }),
    change: async (world) => ({ identityUid: uidFromText("somebody else"), roleUid: await builtInRole(world, "editor") }),
    smallChange: {},
    uniqueFilter: ({ identityUid = "" }) => ({ identity: identityUid }),
  }),
  defineSample(groupInvites, GroupInvitesService, {
    title: "a group invite",
    v1: {
      service: GroupInvites,
      body: ({ roleUid = "", ...rest }) => ({ ...rest, role: roleUid }),
      eventFields: ["id", "expiration"],
    },
    parent: inGroup,
    capabilityNoun: "group_invites",
    isImmutable: true,
    ownFields: ["email", "keyId"],
    shownOnce: ["code"],
    eventFields: ["uid", "expirationTime"],
    body: async (world, _group, name) => ({
      roleUid: await builtInRole(world, "viewer"),
      email: `${name.replaceAll(" ", "")}@example.com`,
      ttl: "604800s",
      singleUse: true,
    }),
    change: async () => ({}),
    smallChange: {},
    uniqueFilter: ({ keyId = "" }) => ({ keyId }),
  }),
  defineSample(accountAssociations, AccountAssociationsService, {
    title: "an account association",
    v1: { service: GroupAccountAssociations, body: (body) => body },
    parent: inGroup,
    capabilityNoun: "account_associations",
    deletesMissing: true,
    ownFields: ["name", "chainguard"],
    // Its uid is that of its group.
    eventGroup: (uid) => uid,
    body: async (world, group, name) => ({
      name,
      description: "Line one\n  line two",
      amazon: { account: "012345678901" },
      chainguard: { serviceBindings: { CATALOG_SYNCER: await createServicePrincipal(world, group, "CATALOG_SYNCER") } },
      github: { appInstallations: { "12": { installations: [{ installationId: "34", name: "acme" }] } } },
    }),
    change: async () => ({
      name: "renamed",
      description: "",
      amazon: { account: "109876543210" },
      google: { projectId: "acme", projectNumber: "123" },
      azure: { tenantId: "00000000-0000-0000-0000-00000000000a", clientIds: { scanner: "b" } },
    }),
  }),
  defineSample(publicContent, PublicContentService, {
    title: "public content",
    parent: inGroup,
    capabilityNoun: "public_content",
    ownFields: ["description"],
    uniqueFilter: () => ({}),
    // Its uid is that of its group.
    eventGroup: (uid) => uid,
    body: async (_world, _group, name) => ({ description: name, kinds: ["KIND_IMAGES", "KIND_JAVA"] }),
    change: async () => ({ description: "", kinds: ["KIND_PYTHON"] }),
  }),
  defineSample(identityProviders, IdentityProvidersService, {
    title: "an identity provider",
    v1: { service: IdentityProviders, body: (body) => body },
    parent: inOrganization,
    capabilityNoun: "identity_providers",
    valuesInLists: { credentialState: "CREDENTIAL_STATE_UNSPECIFIED" },
    // Its users are bound to its default role.
    neededToUpdate: async () => [Capability.CAP_IAM_ROLE_BINDINGS_CREATE],
    body: async (world, _organization, name) => ({
      name,
      description: "Line one\n  line two",
      defaultRole: await builtInRole(world, "viewer"),
      oidc: unreachableOidc,
    }),
    change: async (world) => ({
      name: "renamed",
      description: "",
      defaultRole: await builtInRole(world, "editor"),
      oidc: {
        ...unreachableOidc,
        issuer: `${unreachableOidc.issuer}/other`,
        clientId: "other",
        clientSecret: "",
        additionalScopes: [],
        groupsClaim: "",
      },
    }),
  }),
  mappingSample,
  defineSample(pullTokens, PullTokensService, {
    title: "a pull token",
    parent: inGroup,
    capabilityNoun: "identity",
    isImmutable: true,
    ownFields: ["name", "userName"],
    shownOnce: ["password"],
    absentAtFirst: ["rotateTime", "previousExpireTime", "lastUseTime"],
    body: async (_world, _group, name) => ({
      name,
      description: "Line one\n  line two",
      rights: ["RIGHT_IMAGES_PULL", "RIGHT_IMAGES_PUSH"],
      repositories: ["shop/*"],
      ttl: "604800s",
    }),
    change: async () => ({}),
    smallChange: {},
  }),
];

/** A call about a pull token of the owner. */
function pullTokenCall(method: DescMethodUnary, request: JsonObject): OperationSample {
  return {
    method,
    checksScopeItself: true,
    event: {
      succeeding: async (world) => {
        const group = await world.group(world.orgUid);
        const pullToken = { name: "sample", rights: [PullToken_Right.IMAGES_PULL] };
        const { uid } = await world.must(PullTokensService.method.createPullToken, { parent: group, pullToken });
        return { request: { uid, ...request }, subject: () => uid, group: () => group };
      },
      failing: async (world) => ({ uid: `${world.orgUid}/0123456789abcdef` }),
    },
  };
}

/** Registers a newcomer, who has no identity yet: the event has no actor and, without an invite, no group. */
const registration: EventSample = {
  succeeding: async (world) => {
    const token = await world.proofOf(`newcomer ${++newcomers}`);
    return { request: {}, token, isAnonymous: true, subject: () => "", group: () => "" };
  },
  failing: async () => ({ code: "no invite" }),
};
let newcomers = 0;

const metadataUpdate: EventSample = {
  succeeding: async (world) => ({
    request: { identityMetadata: { company: `company ${Math.floor(world.clock.now().getTime())}`, hubspotUtk: "utk" } },
    subject: () => world.owner.uid,
    group: () => "",
  }),
  failing: async () => ({ identityMetadata: { company: "failing" }, updateMask: "nonsense" }),
};

/** In version 1 the message names no user. */
const metadataUpdateV1: EventSample = {
  succeeding: async (world) => ({
    request: { onboardingQuestions: { companyName: `company ${world.clock.now().getTime()}`, hubspotUtk: "utk" } },
    subject: () => "",
    group: () => "",
  }),
  failing: async () => ({ onboardingQuestions: { companyName: "x".repeat(20_000) } }),
};

const termsAcceptance: EventSample = {
  succeeding: async (world) => {
    const group = await world.group(world.orgUid);
    return { request: { group, documentIds: ["sfdpa.v1", "skills-tos.v1"] }, subject: () => group, group: () => group };
  },
  failing: async (world) => ({ group: world.orgUid, documentIds: ["NOT AN ID"] }),
};

const batchOfBindings: EventSample = {
  succeeding: async (world) => {
    const group = await world.group(world.orgUid);
    const identityUids = ["a", "b"].map((each) => uidFromText(`${each} ${group}`));
    const requests = identityUids.map((identityUid) => ({ roleBinding: { identityUid } }));
    const request = { parent: group, roleUid: await builtInRole(world, "viewer"), requests };
    return { request, subject: () => group, group: () => group };
  },
  // The first binding is valid and is created before the second is refused as a duplicate.
  failing: async (world) => {
    const roleBinding = { identityUid: uidFromText("bound twice"), roleUid: await builtInRole(world, "viewer") };
    return { parent: world.orgUid, requests: [{ roleBinding }, { roleBinding }] };
  },
};

/** @param requestOf makes a request of the version */
const batchDeletionOfMappings = (requestOf: (parent: string, uids: string[]) => JsonObject): EventSample => ({
  succeeding: async (world) => {
    const { provider, mapping } = await createMapping(world);
    return {
      request: requestOf(provider, [mapping]),
      subject: () => provider,
      group: () => rootOf(provider),
      extensions: () => ({ identityprovider: provider }),
    };
  },
  failing: async (world) => requestOf((await createMapping(world)).provider, [`${world.orgUid}/0123456789abcdef`]),
});

async function createMapping(world: World): Promise<{ provider: string; mapping: string }> {
  const provider = await createParent(world, mappingSample, world.orgUid);
  const { text } = await createResource(world, mappingSample, provider, "mapped");
  return { provider, mapping: textOf(parse(text).uid) };
}

const batchOfBindingsV1: EventSample = {
  succeeding: async (world) => {
    const group = await world.group(world.orgUid);
    const role = await builtInRole(world, "viewer");
    const roleBindings = ["a", "b"].map((each) => ({ identity: uidFromText(`${each} ${group}`), role }));
    const idsOf = (answer: JsonObject) => (answer.roleBindings as JsonObject[]).map(({ id }) => textOf(id));
    return { request: { parent: group, roleBindings }, subject: (answer) => idsOf(answer).join(","), group: () => group };
  },
  failing: async (world) => {
    const roleBinding = { identity: uidFromText("bound twice"), role: await builtInRole(world, "viewer") };
    return { parent: world.orgUid, roleBindings: [roleBinding, roleBinding] };
  },
};

/** A call about the SCIM token of an identity provider, which has a token unless the call is the first. Some requests name its etag. */
function scimCall(method: DescMethodUnary, request: JsonObject, isFirst = false): OperationSample {
  const needsEtag = method.input.fields.some(({ name }) => name === "etag");
  const provider = method.input.field.identityProviderId === undefined ? "identityProviderUid" : "identityProviderId";
  return {
    method,
    // Version 1 does not mark the etag as required, so the access suite sends none.
    ...(provider === "identityProviderId" && needsEtag && { answer: Code.INVALID_ARGUMENT }),
    event: {
      succeeding: async (world) => {
        const organization = await world.group("", "with scim");
        await world.bind(uidFromText("a second owner"), await builtInRole(world, "owner"), organization);
        const identityProviderUid = await providerIn(world, organization);
        const etag = isFirst ? "" : await generateScimToken(world, identityProviderUid);
        return {
          request: { [provider]: identityProviderUid, ...(needsEtag && { etag }), ...request },
          subject: () => identityProviderUid,
          group: () => organization,
        };
      },
      failing: async (world) => ({
        [provider]: `${world.orgUid}/0123456789abcdef`,
        ...(needsEtag && { etag: "x" }),
      }),
    },
  };
}

/** @returns the etag */
async function generateScimToken(world: World, identityProviderUid: string): Promise<string> {
  const { text } = await world.raw("POST", `/iam/v2/identityProviders/${identityProviderUid}:generateScimToken`, {});
  return textOf(parse(text).etag);
}

/** A decision of a user who is bound in an organization. */
function membershipCall(method: DescMethodUnary, ofBinding = false): OperationSample {
  return {
    method,
    answer: Code.NOT_FOUND,
    event: {
      succeeding: async (world) => {
        const user = await world.user();
        const binding = await world.bind(user.uid, await builtInRole(world, "viewer"), world.orgUid);
        return {
          request: { uid: ofBinding ? binding : world.orgUid },
          subject: () => (ofBinding ? binding : user.uid),
          group: () => world.orgUid,
          token: user.token,
          actor: user.uid,
        };
      },
      failing: async () => ({ uid: uidFromText("no organization") }),
    },
  };
}

/** @returns the uid of the link */
async function addAccountLink(world: World, identityUid: string): Promise<string> {
  const uid = newUid(world.orgUid);
  const row = { uid, org_uid: world.orgUid, identity_uid: identityUid, linked_uid: uidFromText(uid), idp_uid: uid, name: "ann" };
  await world.store.transaction((db) =>
    db
      .insertInto("account_link")
      .values({ ...row, create_time: world.clock.now().toISOString() })
      .execute(),
  );
  return uid;
}

/** A user ends sessions of its own. */
function sessionCall(method: DescMethodUnary, answer: 0 | Code): OperationSample {
  const isOne = method === SessionsService.method.endSession;
  return {
    method,
    answer,
    event: {
      succeeding: async (world) => {
        const user = await world.user();
        const { sessions } = await world.must(SessionsService.method.listSessions, {}, user.token);
        const uid = sessions[0]?.uid ?? "";
        return {
          request: isOne ? { uid } : {},
          subject: () => (isOne ? uid : user.uid),
          group: () => "",
          token: user.token,
          actor: user.uid,
        };
      },
      failing: async () => (isOne ? { uid: uidFromText("no session") } : { identityUid: "nobody" }),
    },
  };
}

let settings = 0;

/** A call of a person about the own account. */
function ownAccountCall(method: DescMethodUnary, request: (passkey: string) => JsonObject): OperationSample {
  return {
    method,
    answer: Code.NOT_FOUND,
    event: {
      succeeding: async (world) => {
        const user = await world.user();
        const passkey = await addLocalAccount(world, user.uid);
        return { request: request(passkey), subject: () => user.uid, group: () => "", token: user.token, actor: user.uid };
      },
      failing: async () => request("no passkey"),
    },
  };
}

/** A call of an administrator about the account of a person who has joined the organization. */
function managedAccountCall(method: DescMethodUnary, isDisabled = false): OperationSample {
  return {
    method,
    answer: Code.NOT_FOUND,
    event: {
      succeeding: async (world) => {
        const user = await world.user();
        await addLocalAccount(world, user.uid, isDisabled);
        await world.store.transaction((db) => join(db, { identityUid: user.uid, groupUid: world.orgUid, now: world.clock.now() }));
        return { request: { uid: user.uid }, subject: () => user.uid, group: () => world.orgUid };
      },
      failing: async () => ({ uid: uidFromText("no account") }),
    },
  };
}

export const operationSamples: readonly OperationSample[] = [
  { method: AttentionService.method.listAttention, answer: 0 },
  { method: AccountsService.method.getOwnAccount, answer: Code.NOT_FOUND },
  ownAccountCall(AccountsService.method.renamePasskey, (uid) => ({ uid, name: "phone" })),
  ownAccountCall(AccountsService.method.removePasskey, (uid) => ({ uid })),
  ownAccountCall(AccountsService.method.changePassword, () => ({ password: LOCAL_PASSWORD, newPassword: "another staple of a horse" })),
  ownAccountCall(AccountsService.method.regenerateRecoveryCodes, () => ({ password: LOCAL_PASSWORD })),
  { method: AccountLinksService.method.listAccountLinks, answer: 0 },
  {
    method: AccountLinksService.method.removeAccountLink,
    answer: Code.NOT_FOUND,
    event: {
      succeeding: async (world) => {
        const user = await world.user();
        await addLocalAccount(world, user.uid);
        const uid = await addAccountLink(world, user.uid);
        return { request: { uid }, subject: () => user.uid, group: () => world.orgUid, token: user.token, actor: user.uid };
      },
      failing: async (world) => ({ uid: `${world.orgUid}/0123456789abcdef` }),
    },
  },
  managedAccountCall(AccountsService.method.createAccountRecovery),
  managedAccountCall(AccountsService.method.disableAccount),
  managedAccountCall(AccountsService.method.enableAccount, true),
  { method: ResourceLimitsService.method.getResourceLimits, checksScopeItself: true },
  {
    method: ResourceLimitsService.method.updateResourceLimits,
    checksScopeItself: true,
    event: {
      succeeding: async (world) => {
        const uid = await world.group("", `resource-limits-${settings++}`);
        return { request: { resourceLimits: { uid, repositories: 5 } }, subject: () => uid, group: () => uid };
      },
      failing: async (world) => ({ resourceLimits: { uid: await world.group(world.orgUid), repositories: 5 } }),
    },
  },
  {
    method: SignInSettingsService.method.updateSignInSettings,
    event: {
      succeeding: async (world) => {
        const uid = await world.group("", `sign-in-settings-${settings++}`);
        return { request: { signInSettings: { uid, secondFactorRequired: true } }, subject: () => uid, group: () => uid };
      },
      failing: async (world) => ({ signInSettings: { uid: await world.group(world.orgUid), secondFactorRequired: true } }),
    },
  },
  { method: PullTokensService.method.getPullToken, checksScopeItself: true },
  { method: PullTokensService.method.deletePullToken, checksScopeItself: true },
  pullTokenCall(PullTokensService.method.rotatePullToken, {}),
  pullTokenCall(PullTokensService.method.adoptPullToken, { independent: true }),
  sessionCall(SessionsService.method.endSession, Code.NOT_FOUND),
  // The caller has no sessions.
  sessionCall(SessionsService.method.endSessions, 0),
  membershipCall(MembershipsService.method.acceptMembership),
  membershipCall(MembershipsService.method.leaveMembership),
  membershipCall(MembershipsService.method.leaveRoleBinding, true),
  // These callers bring a proof of another issuer, which the minimal request lacks.
  { method: Auth.method.register, answer: Code.UNAUTHENTICATED, event: registration },
  { method: SecurityTokenService.method.exchange, answer: Code.UNAUTHENTICATED },
  { method: SecurityTokenService.method.exchangeRefreshToken, answer: Code.UNAUTHENTICATED },
  // The account belongs to somebody else.
  { method: Auth.method.delete, answer: Code.PERMISSION_DENIED },
  // Nobody has finished a login with this key.
  { method: Auth.method.getHeadlessSession, answer: Code.NOT_FOUND },
  // The identity has no email address.
  { method: GroupsService.method.lookupGroup, answer: Code.NOT_FOUND },
  { method: GroupsService.method.requestGroupAccess, answer: Code.NOT_FOUND },
  { method: GroupsService.method.createGroup, checksScopeItself: true },
  { method: Groups.method.lookupGroup, answer: Code.NOT_FOUND },
  { method: Groups.method.requestGroupAccess, answer: Code.NOT_FOUND },
  { method: Groups.method.create, checksScopeItself: true },
  { method: Identities.method.lookup, answer: Code.INVALID_ARGUMENT },
  { method: RoleBindings.method.createBatch, event: batchOfBindingsV1 },
  { method: RolesService.method.getRole, checksScopeItself: true },
  { method: TermsService.method.acceptTerms, answer: 0, event: termsAcceptance },
  { method: TermsService.method.listTermsAcceptances, answer: 0 },
  { method: AccessService.method.testToken, answer: Code.INVALID_ARGUMENT },
  // The minimal request has neither a text of two characters nor the URL of an issuer.
  { method: SearchService.method.search, answer: Code.INVALID_ARGUMENT },
  { method: SignInSettingsService.method.discoverProvider, answer: Code.INVALID_ARGUMENT },
  { method: IdentitiesService.method.updateIdentityMetadata, event: metadataUpdate },
  { method: RoleBindingsService.method.batchCreateRoleBindings, event: batchOfBindings },
  {
    method: ExternalGroupRoleMappingsService.method.batchDeleteExternalGroupRoleMappings,
    event: batchDeletionOfMappings((parent, names) => ({ parent, names })),
  },
  {
    method: ExternalGroupRoleMappings.method.batchDelete,
    answer: Code.INVALID_ARGUMENT,
    event: batchDeletionOfMappings((parentId, ids) => ({ parentId, ids })),
  },
  { method: GroupAccountAssociations.method.delete, answer: 0 },
  { method: GroupAccountAssociations.method.check, answer: Code.INVALID_ARGUMENT },
  // The request names neither an organization nor a user.
  { method: GroupInvites.method.createWithGroup, answer: Code.INVALID_ARGUMENT },
  { method: EventIdentities.method.create, answer: Code.INVALID_ARGUMENT },
  { method: EventIdentities.method.updateMetadata, event: metadataUpdateV1 },
  { method: Terms.method.acceptTerms, answer: Code.INVALID_ARGUMENT, event: termsAcceptance },
  { method: Terms.method.listAccepted, answer: 0 },
  scimCall(IdentityProvidersService.method.generateScimToken, { neverExpires: true }, true),
  scimCall(IdentityProvidersService.method.regenerateScimToken, { overlap: "60s" }),
  scimCall(IdentityProvidersService.method.revokeScimToken, {}),
  scimCall(IdentityProvidersService.method.setScimEnabled, { enabled: true }),
  scimCall(IdentityProviders.method.generateScimToken, { neverExpires: true }, true),
  scimCall(IdentityProviders.method.regenerateScimToken, { overlap: "60s" }),
  scimCall(IdentityProviders.method.revokeScimToken, {}),
  scimCall(IdentityProviders.method.setScimEnabled, { enabled: true }),
];
