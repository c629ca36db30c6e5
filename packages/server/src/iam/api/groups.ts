/** Groups: organizations (in root) and the folders below them. */
import { create as createMessage } from "@bufbuild/protobuf";
import { EmptySchema } from "@bufbuild/protobuf/wkt";
import { Capability } from "@holt/api/gen/platform/capabilities/capabilities_pb.ts";
import { type Group, GroupSchema, GroupsService, OrgKind, OrgStatus } from "@holt/api/gen/platform/iam/v2/groups_pb.ts";
import { RoleBindingSchema } from "@holt/api/gen/platform/iam/v2/role_bindings_pb.ts";
import { capabilitySet, hasAll } from "../../access/capability-set.ts";
import { assertHolds } from "../../api/call/authorize.ts";
import type { WriteCall } from "../../api/call/call.ts";
import { implement, write } from "../../api/call/implement.ts";
import { defineResource } from "../../api/resource/define.ts";
import type { Mask } from "../../api/resource/field-mask.ts";
import { assertName, assertNone, descriptionViolations } from "../../api/resource/names.ts";
import type { PageTokens } from "../../api/resource/page-token.ts";
import { standardMethods } from "../../api/resource/standard-methods.ts";
import { create, insert, newUidBelow, prepareCreate, prepareUpdate, save, type WriteContext } from "../../api/resource/write.ts";
import { alreadyExists, invalidArgument, permissionDenied } from "../../lib/errors.ts";
import { isInRoot, isUid, newUid } from "../../lib/uid.ts";
import { builtInRoles } from "../grants/built-in-roles.ts";
import { join } from "../joining/membership.ts";
import { assertPublicNameFree, hasPublicContent } from "../public-content/unique-name.ts";
import { deleteGroup, type GroupDeletionParts } from "./delete-group.ts";
import { type GroupAccessCollaborators, groupAccessMethods } from "./group-access.ts";
import { applyStaffFields, assertFolderFields, inheritKindAndStatus, shareKindAndStatus } from "./group-kind.ts";
import { resolveParent } from "./resolve-parent.ts";
import { roleBindings } from "./role-bindings.ts";
import type { StaffCollaborators } from "./staff.ts";

const CREATE = capabilitySet([Capability.CAP_IAM_GROUPS_CREATE]);
const OWNER = builtInRoles.find((role) => role.name === "owner")!;

export const groups = defineResource(GroupSchema, {
  table: "group",
  columns: (group) => ({ verified: group.verified ? 1 : 0 }),
  filters: { name: "name" },
  orderBy: ["uid", "name", "create_time", "update_time"],
  check({ name, description }) {
    assertName(name);
    assertNone(descriptionViolations(description));
  },
  // Names are unique among verified organizations, since they stand for the organization in registry paths and at sign-in.
  nameTaken: ({ name }) => alreadyExists("Group", name, `a verified organization named "${name}"`),
});

export interface GroupsCollaborators extends StaffCollaborators, GroupDeletionParts, GroupAccessCollaborators {
  readonly pageTokens: PageTokens;
}

export function groupsService(collaborators: GroupsCollaborators) {
  return implement(GroupsService, {
    ...standardMethods(GroupsService, groups, collaborators),
    ...groupAccessMethods(collaborators),

    createGroup: {
      kind: "write",
      prepare: async ({ parent }, call) => (parent === "" || isUid(parent) ? parent : resolveParent(parent, call)),
      handle: ({ group }, call, parent: string) =>
        parent === "" ? createOrganization(group, call, collaborators) : createFolder(parent, group, call),
    },

    updateGroup: write(async ({ group, updateMask }, call) => {
      const update = await prepareUpdate(groups, group, updateMask, call);
      const { current, next } = update;
      assertNamesKind(updateMask, current);
      if (isInRoot(next.uid)) applyStaffFields(next, current, call, collaborators);
      else assertFolderFields(next, current);
      if (isInRoot(next.uid) && next.name !== current.name && (await hasPublicContent(call.db, next.uid)))
        await assertPublicNameFree(call.db, next);
      const saved = await save(groups, update, call);
      if (current.kind !== next.kind || current.status !== next.status) await shareKindAndStatus(next, call.db);
      return saved;
    }),

    deleteGroup: write(async ({ uid }, call) => {
      await deleteGroup(uid, call, collaborators);
      return createMessage(EmptySchema);
    }),
  });
}

/** Clients that do not know of kinds send `*` without one; that must not reset a kind. */
function assertNamesKind(mask: Mask | undefined, { kind, status }: Group): void {
  if (!mask?.paths.includes("*") || (kind === OrgKind.UNSPECIFIED && status === OrgStatus.UNSPECIFIED)) return;
  throw invalidArgument("update_mask", "name the fields to change: * would reset the kind of this group, which must be named explicitly");
}

/** Any identity that is not confined to a group may create an organization and becomes its owner. */
async function createOrganization(given: Group | undefined, call: WriteCall, collaborators: GroupsCollaborators) {
  const { principal } = call;
  if (principal === undefined || !isInRoot(principal.uid))
    throw permissionDenied("an identity that was created in a group acts in that group and below; it cannot create an organization");
  if (principal.scopes !== undefined || principal.within !== undefined || !hasAll(principal.capabilities ?? CREATE, CREATE))
    throw permissionDenied("this token is narrowed and does not allow creating an organization");
  const group = prepareCreate(groups, given, call.now);
  applyStaffFields(group, createMessage(GroupSchema), call, collaborators);
  const created = await create(groups, "", group, call);
  const binding = createMessage(RoleBindingSchema, { identityUid: principal.uid, roleUid: OWNER.uid });
  await insert(roleBindings, newUid(group.uid), binding, call);
  await join(call.db, { identityUid: principal.uid, groupUid: group.uid, now: call.now });
  await collaborators.grants.recordChange(call.db, [principal.uid]);
  call.access = call.access.afterJoining(group.uid);
  return created;
}

async function createFolder(parent: string, given: Group | undefined, call: WriteCall) {
  await assertHolds({ kind: "Group", uid: parent }, CREATE, call.access, call.db);
  return insertFolder(parent, prepareCreate(groups, given, call.now), call);
}

/** For folders that the server creates on behalf of a caller whose rights it has checked. */
export async function createNamedFolder(parent: string, name: string, context: WriteContext): Promise<Group> {
  const group = prepareCreate(groups, createMessage(GroupSchema, { name }), context.now);
  await insertFolder(parent, group, context);
  return group;
}

async function insertFolder(parent: string, group: Group, context: WriteContext) {
  assertFolderFields(group, createMessage(GroupSchema));
  const uid = newUidBelow(parent);
  await inheritKindAndStatus(group, parent, context.db);
  return insert(groups, uid, group, context);
}
