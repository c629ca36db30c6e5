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
import { writableFields } from "../../api/resource/field-mask.ts";
import { assertName, assertNone, descriptionViolations } from "../../api/resource/names.ts";
import { standardMethods } from "../../api/resource/standard-methods.ts";
import { create, insert, isDuplicate, prepareUpdate, save } from "../../api/resource/write.ts";
import type { ServiceDependencies } from "../../dependencies-services.ts";
import { alreadyExists, invalidArgument, permissionDenied } from "../../lib/errors.ts";
import { isInRoot, isUid, newUid } from "../../lib/uid.ts";
import { builtInRoles } from "../grants/built-in-roles.ts";
import { deleteGroup, type GroupDeletionParts } from "./delete-group.ts";
import { groupAccessMethods } from "./group-access.ts";
import { applyStaffFields, assertFolderFields, inheritKindAndStatus, shareKindAndStatus } from "./group-kind.ts";
import { resolveParent } from "./resolve-parent.ts";
import { roleBindings } from "./role-bindings.ts";

const CREATE = capabilitySet([Capability.CAP_IAM_GROUPS_CREATE]);
const OWNER = builtInRoles.find((role) => role.name === "owner")!;

export const groups = defineResource(GroupSchema, {
  table: "group",
  columns: (group) => ({ verified: group.verified ? 1 : 0 }),
  filters: { name: "name" },
  orderBy: ["uid", "name", "create_time", "update_time"],
});

export function groupsService(dependencies: ServiceDependencies) {
  return implement(GroupsService, {
    ...standardMethods(GroupsService, groups, dependencies.pageTokens),
    ...groupAccessMethods(dependencies),

    createGroup: {
      kind: "write",
      prepare: async ({ parent }, call) => (parent === "" || isUid(parent) ? parent : resolveParent(parent, call)),
      handle: ({ group }, call, parent: string) =>
        parent === "" ? createOrganization(group as Group, call, dependencies) : createFolder(parent, group as Group, call),
    },

    updateGroup: write(async ({ group: incoming, updateMask }, call) => {
      const group = incoming as Group;
      const { current, next } = await prepareUpdate(groups, group, updateMask, call.db);
      if (updateMask?.paths.includes("*") && (current.kind !== OrgKind.UNSPECIFIED || current.status !== OrgStatus.UNSPECIFIED)) {
        throw invalidArgument(
          "update_mask",
          "name the fields to change: * would reset the kind of this group, which must be named explicitly",
        );
      }
      assertValid(next);
      if (isInRoot(next.uid)) applyStaffFields(next, current, call, dependencies);
      else assertFolderFields(next, current);
      const saved = await save(groups, { current, next }, call).catch((thrown) => throwNameTaken(thrown, next));
      if (current.kind !== next.kind || current.status !== next.status) await shareKindAndStatus(current, next, call.db);
      return saved;
    }),

    deleteGroup: write(async ({ uid }, call) => {
      await deleteGroup(uid, call, dependencies as unknown as GroupDeletionParts);
      return createMessage(EmptySchema);
    }),
  });
}

function assertValid(group: Group): void {
  assertName(group.name);
  assertNone(descriptionViolations(group.description));
}

/** Any identity that is not confined to a group may found an organization; it becomes its owner. */
async function createOrganization(group: Group, call: WriteCall, dependencies: ServiceDependencies) {
  const { principal } = call;
  if (principal === undefined || !isInRoot(principal.uid))
    throw permissionDenied("an identity made in a group acts in that group and below; it cannot create an organization");
  if (principal.scopes !== undefined || principal.within !== undefined || !hasAll(principal.capabilities ?? CREATE, CREATE))
    throw permissionDenied("this token is narrowed to less than creating an organization");
  const made = writableFields(GroupSchema, group);
  assertValid(made);
  applyStaffFields(made, createMessage(GroupSchema), call, dependencies);
  const body = await insert(groups, newUid(""), made, call.now, call.db).catch((thrown) => throwNameTaken(thrown, made));
  const binding = createMessage(RoleBindingSchema, { identityUid: principal.uid, roleUid: OWNER.uid });
  await insert(roleBindings, newUid(made.uid), binding, call.now, call.db);
  await dependencies.grants.changed(call.db, [principal.uid]);
  return body;
}

async function createFolder(parent: string, group: Group, call: WriteCall) {
  await assertHolds("Group", parent, CREATE, call.access, call.db);
  const made = writableFields(GroupSchema, group);
  assertValid(made);
  assertFolderFields(made, createMessage(GroupSchema));
  await inheritKindAndStatus(made, parent, call.db);
  return create(groups, parent, made, call);
}

/** Unique among the verified, since it stands for the organization in registry paths and sign-in. */
function throwNameTaken(thrown: unknown, { name }: Group): never {
  throw isDuplicate(thrown) ? alreadyExists("Group", name, `a verified organization named "${name}"`) : thrown;
}
