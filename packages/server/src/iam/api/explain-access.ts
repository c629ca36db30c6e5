/**
 * Explains which bindings give an identity or a pull token a capability at a uid, or which part is missing. Reveals only
 * bindings that the caller may see.
 */
import { create } from "@bufbuild/protobuf";
import { capabilityName } from "@holt/api";
import {
  type ExplainAccessRequest,
  type ExplainAccessResponse,
  ExplainAccessResponseSchema,
  GrantSchema,
  ExplainAccessResponse_PullTokenLimit as PullTokenLimit,
} from "@holt/api/gen/holt/v1/access_pb.ts";
import { Capability } from "@holt/api/gen/platform/capabilities/capabilities_pb.ts";
import { capabilitySet, capabilitySetFromHex } from "../../access/capability-set.ts";
import { assertHolds, mayReadIdentity } from "../../api/call/authorize.ts";
import type { Call } from "../../api/call/call.ts";
import type { ReadDb } from "../../db/store.ts";
import { invalidArgument, notFound } from "../../lib/errors.ts";
import { ancestry, isAtOrBelow, isInRoot, isUid, parentOf, rootOf } from "../../lib/uid.ts";
import type { Grants } from "../grants/grants.ts";
import { findByUid, type PullTokenRecord } from "../pull-tokens/pull-token-record.ts";
import { type Explanation, summaryOf } from "./access-summary.ts";
import { limitOfPullToken, pullTokenSummaryOf } from "./explain-pull-token.ts";

const READ_IDENTITY = capabilitySet([Capability.CAP_IAM_IDENTITY_LIST]);
const READ_BINDINGS = capabilitySet([Capability.CAP_IAM_ROLE_BINDINGS_LIST]);
const READ_ROLES = capabilitySet([Capability.CAP_IAM_ROLES_LIST]);
const BIND = capabilitySet([Capability.CAP_IAM_ROLE_BINDINGS_CREATE]);
const READ_MAPPINGS = capabilitySet([Capability.CAP_IAM_IDENTITY_PROVIDERS_LIST]);
/** Bindings, or roles, that are read for one explanation. */
const MAX_ROWS = 1000;
const MAX_ROLES = 50;

interface Binding {
  readonly uid: string;
  readonly groupUid: string;
  readonly roleUid: string;
  readonly roleName: string;
  readonly capabilities: bigint;
}

export interface ExplainAccessCollaborators {
  readonly grants: Grants;
}

export async function explainAccess(
  { uid, identityUid, capability }: ExplainAccessRequest,
  call: Call,
  { grants }: ExplainAccessCollaborators,
): Promise<ExplainAccessResponse> {
  const { db, access } = call;
  // A caller who may read a user would otherwise pass with the uid of that user as the scope.
  await assertHolds({ kind: "Group", uid }, READ_IDENTITY | READ_BINDINGS | READ_ROLES, access, db);
  const wanted = capabilitySet([capability]);
  const token = access.holds(READ_IDENTITY, identityUid) ? await findByUid(db, identityUid) : undefined;
  const name = token?.name ?? (await readableName(identityUid, call));
  if (wanted === 0n) throw invalidArgument("capability", "is not the number of a capability");
  const question = { uid, capability, wanted };
  return token === undefined
    ? explainIdentity({ ...question, identityUid, name }, call, grants)
    : explainPullToken(token, question, call, grants);
}

interface Question {
  readonly uid: string;
  readonly capability: Capability;
  readonly wanted: bigint;
}

/** Rights of the token's creator, and the part that the token keeps. */
async function explainPullToken(token: PullTokenRecord, question: Question, call: Call, grants: Grants): Promise<ExplainAccessResponse> {
  const { creator } = token;
  const { uid, capability } = question;
  const limit = await limitOfPullToken(token, question, call, grants);
  const name = creator === undefined ? undefined : await readableName(creator.uid, call).catch(() => undefined);
  const bindings =
    creator === undefined || name === undefined
      ? create(ExplainAccessResponseSchema)
      : await explainIdentity({ ...question, identityUid: creator.uid, name }, call, grants);
  return create(ExplainAccessResponseSchema, {
    ...bindings,
    allowed: limit === undefined,
    summary: pullTokenSummaryOf({ token, capability: capabilityName(capability), uid, limit, creator: name }),
    pullTokenLimit: limit ?? PullTokenLimit.UNSPECIFIED,
  });
}

async function explainIdentity(
  { uid, identityUid, capability, wanted, name }: Question & { readonly identityUid: string; readonly name: string },
  call: Call,
  grants: Grants,
): Promise<ExplainAccessResponse> {
  const { db, access } = call;
  const standing = await grants.load(identityUid, db);
  const home = isInRoot(identityUid) ? undefined : parentOf(identityUid);
  const isConfined = home !== undefined && !isAtOrBelow(uid, home);
  const bindings = await bindingsAbove(uid, identityUid, db);
  const giving = bindings.filter(({ capabilities }) => (capabilities & wanted) !== 0n);
  const isShown = ({ groupUid }: Binding): boolean => access.holds(READ_BINDINGS, groupUid);
  const lacking = bindings.filter((binding) => !giving.includes(binding) && isShown(binding));
  const helping = isConfined ? [] : await helpingRoles(uid, wanted, call);
  const explanation: Explanation = {
    identity: name,
    capability: capabilityName(capability),
    uid,
    isAllowed: standing.exists && standing.access.holds(wanted, uid),
    isDeactivated: !standing.exists || standing.closedOrganizations.has(rootOf(uid)),
    home: isConfined ? home : undefined,
    shown: giving.filter(isShown),
    hidden: giving.filter((binding) => !isShown(binding)).length,
    lacking: lacking.length,
    helping: helping.length,
    mayComeByGroups: home === undefined && (await mayComeByGroups(uid, wanted, call)),
  };
  return create(ExplainAccessResponseSchema, {
    allowed: explanation.isAllowed,
    summary: summaryOf(explanation),
    grants: explanation.shown.map((binding) => grantOf(binding, uid)),
    lacking: lacking.map((binding) => grantOf(binding, uid)),
    rolesWithCapability: helping,
    confinedTo: isConfined && giving.length > 0 ? home : "",
  });
}

type ShownBinding = Omit<Binding, "capabilities">;

function grantOf({ uid, groupUid, roleUid, roleName }: ShownBinding, at: string) {
  return create(GrantSchema, { roleBindingUid: uid, groupUid, roleUid, roleName, inherited: groupUid !== at });
}

/** @throws NOT_FOUND also if the caller may not see the identity */
async function readableName(uid: string, call: Call): Promise<string> {
  const isReadable = isUid(uid) && (await mayReadIdentity(uid, READ_IDENTITY, call, call.db));
  const query = call.db.selectFrom("identity").select("name").where("uid", "=", uid);
  const row = isReadable ? await query.executeTakeFirst() : undefined;
  if (row === undefined) throw notFound("Identity", uid.slice(0, 200));
  return row.name;
}

/** Nearest first. */
async function bindingsAbove(uid: string, identityUid: string, db: ReadDb): Promise<Binding[]> {
  const rows = await db
    .selectFrom("role_binding")
    .innerJoin("role", "role.uid", "role_binding.role_uid")
    .select(["role_binding.uid", "role_binding.parent as groupUid", "role.uid as roleUid", "role.name as roleName", "role.capabilities"])
    .where("role_binding.identity_uid", "=", identityUid)
    .where("role_binding.parent", "in", ancestry(uid))
    .orderBy("role_binding.uid")
    .limit(MAX_ROWS)
    .execute();
  return rows
    .map((row) => ({ ...row, groupUid: row.groupUid ?? "", capabilities: capabilitySetFromHex(row.capabilities) }))
    .sort((a, b) => b.groupUid.length - a.groupUid.length);
}

/**
 * Roles with the capability that the caller could bind in the nearest group; those with the fewest capabilities first, then the nearest.
 */
async function helpingRoles(uid: string, wanted: bigint, { access, db }: Call): Promise<string[]> {
  const groups = await db.selectFrom("group").select("uid").where("uid", "in", ancestry(uid)).execute();
  const group = groups.map((row) => row.uid).reduce((nearest, each) => (each.length > nearest.length ? each : nearest), "");
  if (group === "" || !access.holds(BIND, group)) return [];
  const held = access.capabilitiesAt(group);
  const rows = await db
    .selectFrom("role")
    .select(["uid", "capabilities"])
    .where((where) => where.or([where("parent", "is", null), where("parent", "in", ancestry(group))]))
    .orderBy("rank")
    .limit(MAX_ROWS)
    .execute();
  return rows
    .map((row) => ({ uid: row.uid, capabilities: capabilitySetFromHex(row.capabilities) }))
    .filter((role) => (role.capabilities & wanted) !== 0n && (role.capabilities & ~held) === 0n)
    .filter((role) => isInRoot(role.uid) || access.holds(READ_ROLES, role.uid))
    .sort((a, b) => countOf(a.capabilities) - countOf(b.capabilities) || b.uid.length - a.uid.length)
    .slice(0, MAX_ROLES)
    .map((role) => role.uid);
}

function countOf(set: bigint): number {
  return set.toString(2).replaceAll("0", "").length;
}

/** Whether a session through an identity provider could have the capability without a binding. Unreadable mappings count as possible. */
async function mayComeByGroups(uid: string, wanted: bigint, { access, db }: Call): Promise<boolean> {
  if (!access.holds(READ_MAPPINGS, rootOf(uid))) return true;
  const rows = await db
    .selectFrom("external_group_role_mapping as mapping")
    .innerJoin("role", "role.uid", "mapping.role_uid")
    .select("role.capabilities")
    .distinct()
    .where("mapping.scope", "in", ancestry(uid))
    .limit(MAX_ROWS)
    .execute();
  return rows.some(({ capabilities }) => (capabilitySetFromHex(capabilities) & wanted) !== 0n);
}
