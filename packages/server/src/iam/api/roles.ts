/** Roles: the built-in ones, which every caller can read and nobody can change, and the custom ones of each organization. */
import { create as createMessage } from "@bufbuild/protobuf";
import { EmptySchema } from "@bufbuild/protobuf/wkt";
import { isInternalOnly } from "@holt/api";
import { Capability } from "@holt/api/gen/platform/capabilities/capabilities_pb.ts";
import { type Role, RoleSchema, RolesService } from "@holt/api/gen/platform/iam/v2/roles_pb.ts";
import { sql } from "kysely";
import { capabilitySet, hexFromCapabilitySet } from "../../access/capability-set.ts";
import { assertHolds } from "../../api/call/authorize.ts";
import type { WriteCall } from "../../api/call/call.ts";
import { implement, read, write } from "../../api/call/implement.ts";
import { defineResource } from "../../api/resource/define.ts";
import { getBody } from "../../api/resource/get.ts";
import { assertName, assertNone, descriptionViolations } from "../../api/resource/names.ts";
import type { PageTokens } from "../../api/resource/page-token.ts";
import type { RootRows } from "../../api/resource/selection.ts";
import { standardMethods } from "../../api/resource/standard-methods.ts";
import { IS_IN_ROOT } from "../../api/resource/visible.ts";
import { create, prepareCreate, prepareUpdate, remove, save } from "../../api/resource/write.ts";
import { ConstraintError } from "../../db/transaction.ts";
import { type FieldViolation, failedPrecondition, notFound, permissionDenied } from "../../lib/errors.ts";
import { isInRoot, isUid, parentOf } from "../../lib/uid.ts";
import { assertHoldsAll, type EscalationCollaborators } from "./escalation.ts";
import { isBound, isHandedOut, isMapped } from "./role-use.ts";
import { isStaff, type StaffCollaborators } from "./staff.ts";

const LIST = capabilitySet([Capability.CAP_IAM_ROLES_LIST]);
/** Without a template, because the prepared statement of a page does not read large bodies, and those of some built-in roles are. */
const BUILT_IN: RootRows = { condition: sql<boolean>`(parent is null and ${IS_IN_ROOT})` };

export const roles = defineResource(RoleSchema, {
  table: "role",
  columns: (role) => ({ rank: rankOf(role.uid), capabilities: hexFromCapabilitySet(capabilitySet(role.capabilities)) }),
  filters: { name: "name" },
  orderBy: ["rank", "uid", "name", "create_time", "update_time"],
  // Built-in roles before custom ones: clients take the first hit of a name.
  defaultOrder: "rank",
  check({ name, description, capabilities }) {
    assertName(name);
    assertNone([...descriptionViolations(description), ...capabilityViolations(capabilities)]);
  },
});

function rankOf(uid: string): string {
  return (isInRoot(uid) ? "0" : "1") + uid;
}

export interface RolesCollaborators extends EscalationCollaborators {
  readonly pageTokens: PageTokens;
}

export function rolesService(collaborators: RolesCollaborators) {
  const { grants, pageTokens } = collaborators;
  return implement(RolesService, {
    ...standardMethods(RolesService, roles, { pageTokens, listTerms: () => ({ rootRows: () => BUILT_IN }) }),

    getRole: read(async ({ uid }, call) => {
      if (!isUid(uid)) throw notFound("Role", uid.slice(0, 200));
      // Every role in root is built in, and every caller may read those.
      if (!isInRoot(uid)) await assertHolds({ kind: "Role", uid }, LIST, call.access, call.db);
      return getBody(roles, uid, call.db);
    }),

    createRole: write(async ({ parent, role: given }, call) => {
      const role = prepareCreate(roles, given, call.now);
      settleCapabilities(role, parent, call, collaborators);
      return create(roles, parent, role, call);
    }),

    updateRole: write(async ({ role, updateMask }, call) => {
      const update = await prepareUpdate(roles, role, updateMask, call);
      const { uid } = update.next;
      settleCapabilities(update.next, parentOf(uid), call, collaborators);
      const before = capabilitySet(update.current.capabilities);
      const after = capabilitySet(update.next.capabilities);
      const added = after & ~before;
      // Adding a capability to a role that identities have, or are promised, hands out that capability.
      if (added !== 0n && (await isHandedOut(uid, call.db))) await assertHoldsAll(added, parentOf(uid), call, collaborators);
      const saved = await save(roles, update, call);
      if (after !== before) await grants.recordChange(call.db, await holdersOf(uid, call));
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

/** Sorts the capabilities and drops duplicates. @throws PERMISSION_DENIED for internal capabilities, unless the caller is staff */
function settleCapabilities(role: Role, parent: string, call: WriteCall, collaborators: StaffCollaborators): void {
  role.capabilities = [...new Set(role.capabilities)].sort((a, b) => a - b);
  const isInternal = role.capabilities.some((capability) => capability === Capability.CAP_INTERNAL || isInternalOnly(capability));
  if (isInternal && !isStaff(call, parent, collaborators))
    throw permissionDenied("only a holder of internal may create or change a role with internal capabilities", {
      capability: "internal",
      resource: parent,
    });
}

function capabilityViolations(capabilities: readonly Capability[]): FieldViolation[] {
  const violation = (description: string) => [{ field: "capabilities", description }];
  if (capabilities.length === 0) return violation("a role must have at least one capability");
  const unknown = capabilities.filter((capability) => capability === Capability.UNKNOWN || capabilitySet([capability]) === 0n);
  if (unknown.length > 0) return violation(`${unknown.slice(0, 10).join(", ")} is not the number of a capability`);
  const needsInternal = capabilities.some((capability) => isInternalOnly(capability)) && !capabilities.includes(Capability.CAP_INTERNAL);
  return needsInternal ? violation("a role with an internal-only capability must also have CAP_INTERNAL") : [];
}

/** From this many holders on, forgetting the rights of all identities costs less. */
const MANY_IDENTITIES = 1000;

/** The identities whose rights change with the role. Holders by a mapping are known only to their sessions. */
async function holdersOf(uid: string, { db }: WriteCall): Promise<readonly string[] | "*"> {
  if (await isMapped(uid, db)) return "*";
  const query = db.selectFrom("role_binding").select("identity_uid").distinct().where("role_uid", "=", uid);
  const rows = await query.limit(MANY_IDENTITIES).execute();
  return rows.length === MANY_IDENTITIES ? "*" : rows.map((row) => row.identity_uid);
}

function inUse(how: string): Error {
  return failedPrecondition("RESOURCE_IN_USE", `cannot delete role while it is ${how}`);
}
