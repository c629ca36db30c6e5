/** Roles: the built-in ones, which everybody reads and nobody changes, and each organization's own. */
import { create as createMessage } from "@bufbuild/protobuf";
import { EmptySchema } from "@bufbuild/protobuf/wkt";
import { isInternalOnly } from "@holt/api";
import { Capability } from "@holt/api/gen/platform/capabilities/capabilities_pb.ts";
import { ListRolesResponseSchema, type Role, RoleSchema, RolesService } from "@holt/api/gen/platform/iam/v2/roles_pb.ts";
import { capabilitySet, hexFromCapabilitySet } from "../../access/capability-set.ts";
import { assertHolds } from "../../api/call/authorize.ts";
import type { WriteCall } from "../../api/call/call.ts";
import { implement, read, write } from "../../api/call/implement.ts";
import { defineResource } from "../../api/resource/define.ts";
import { writableFields } from "../../api/resource/field-mask.ts";
import { getBody } from "../../api/resource/get.ts";
import { listPage, listResponse } from "../../api/resource/list.ts";
import { assertName, assertNone, descriptionViolations } from "../../api/resource/names.ts";
import { standardMethods } from "../../api/resource/standard-methods.ts";
import { IS_IN_ROOT } from "../../api/resource/visible.ts";
import { create, prepareUpdate, remove, save } from "../../api/resource/write.ts";
import { ConstraintError } from "../../db/transaction.ts";
import type { ServiceDependencies } from "../../dependencies-services.ts";
import { type FieldViolation, failedPrecondition, notFound, permissionDenied } from "../../lib/errors.ts";
import { isInRoot, isUid, parentOf } from "../../lib/uid.ts";
import { assertHoldsAll } from "./escalation.ts";
import { isBound, isHandedOut, isMapped } from "./role-use.ts";
import { isStaff } from "./staff.ts";

const LIST = capabilitySet([Capability.CAP_IAM_ROLES_LIST]);

export const roles = defineResource(RoleSchema, {
  table: "role",
  columns: (role) => ({ rank: rankOf(role.uid), capabilities: hexFromCapabilitySet(capabilitySet(role.capabilities)) }),
  filters: { name: "name" },
  orderBy: ["rank", "uid", "name", "create_time", "update_time"],
  // Built-in roles before custom ones: clients take the first hit of a name.
  defaultOrder: "rank",
});

export function rankOf(uid: string): string {
  return (isInRoot(uid) ? "0" : "1") + uid;
}

export function rolesService(dependencies: ServiceDependencies) {
  const { grants, pageTokens } = dependencies;
  return implement(RolesService, {
    ...standardMethods(RolesService, roles, pageTokens),

    getRole: read(async ({ uid }, call) => {
      if (!isUid(uid)) throw notFound("Role", uid.slice(0, 200));
      // Every role in root is built in, and those are everybody's to read.
      if (!isInRoot(uid)) await assertHolds("Role", uid, LIST, call.access, call.db);
      return getBody(roles, uid, call.db);
    }),

    listRoles: read(async (request, call) =>
      listResponse(ListRolesResponseSchema, await listPage(roles, request, call, pageTokens, { beside: IS_IN_ROOT })),
    ),

    createRole: write(async ({ parent, role }, call) => {
      const made = checked(writableFields(RoleSchema, role as Role), call, parent, dependencies);
      return create(roles, parent, made, call);
    }),

    updateRole: write(async ({ role: incoming, updateMask }, call) => {
      const role = incoming as Role;
      const update = await prepareUpdate(roles, role, updateMask, call.db);
      const next = checked(update.next, call, parentOf(role.uid), dependencies);
      const [before, after] = [capabilitySet(update.current.capabilities), capabilitySet(next.capabilities)];
      const added = after & ~before;
      // A role that somebody has, or is promised, hands out what is added to it.
      if (added !== 0n && (await isHandedOut(role.uid, call.db))) await assertHoldsAll(added, parentOf(role.uid), call, dependencies);
      const saved = await save(roles, { current: update.current, next }, call);
      if (after !== before) await grants.changed(call.db, await boundTo(role.uid, call));
      return saved;
    }),

    deleteRole: write(async ({ uid }, call) => {
      if (await isBound(uid, call.db)) throw inUse("bound to an identity");
      if (await isMapped(uid, call.db)) throw inUse("mapped to an external group");
      await remove(roles, uid, call.db).catch((thrown) => {
        throw thrown instanceof ConstraintError ? inUse("in use") : thrown;
      });
      return createMessage(EmptySchema);
    }),
  });
}

/** The role as it is stored: capabilities sorted and each once. Throws on what a role must not be, or not by this caller. */
function checked(role: Role, call: WriteCall, parent: string, dependencies: ServiceDependencies): Role {
  assertName(role.name);
  assertNone([...descriptionViolations(role.description), ...capabilityViolations(role.capabilities)]);
  role.capabilities = [...new Set(role.capabilities)].sort((a, b) => a - b);
  const isInternal = role.capabilities.some((capability) => capability === Capability.CAP_INTERNAL || isInternalOnly(capability));
  if (isInternal && !isStaff(call, parent, dependencies))
    throw permissionDenied("only a holder of internal may make a role with internal capabilities", {
      capability: "internal",
      resource: parent,
    });
  return role;
}

function capabilityViolations(capabilities: readonly Capability[]): FieldViolation[] {
  const violation = (description: string) => [{ field: "capabilities", description }];
  if (capabilities.length === 0) return violation("a role must have at least one capability");
  const unknown = capabilities.filter((capability) => capability === Capability.UNKNOWN || capabilitySet([capability]) === 0n);
  if (unknown.length > 0) return violation(`${unknown.slice(0, 10).join(", ")} is not the number of a capability`);
  const needsInternal = capabilities.some((capability) => isInternalOnly(capability)) && !capabilities.includes(Capability.CAP_INTERNAL);
  return needsInternal ? violation("a role with an internal-only capability must also have CAP_INTERNAL") : [];
}

/** Above this many it costs less to forget everybody. */
const MANY_IDENTITIES = 1000;

/** Whose rights change with the role. Who has it by a mapping, only the sessions know. */
async function boundTo(uid: string, { db }: WriteCall): Promise<readonly string[] | "*"> {
  if (await isMapped(uid, db)) return "*";
  const query = db.selectFrom("role_binding").select("identity_uid").distinct().where("role_uid", "=", uid);
  const rows = await query.limit(MANY_IDENTITIES).execute();
  return rows.length === MANY_IDENTITIES ? "*" : rows.map((row) => row.identity_uid);
}

function inUse(how: string): Error {
  return failedPrecondition("RESOURCE_IN_USE", `cannot delete role while it is ${how}`);
}
