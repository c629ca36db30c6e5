/** Role bindings: this identity has this role at this group and below. Stored as three uids, answered with what they name. */
import { create as createMessage } from "@bufbuild/protobuf";
import { EmptySchema } from "@bufbuild/protobuf/wkt";
import {
  type BatchCreateRoleBindingsRequest,
  BatchCreateRoleBindingsResponseSchema,
  ListRoleBindingsResponseSchema,
  type RoleBinding,
  RoleBindingSchema,
  RoleBindingsService,
} from "@holt/api/gen/platform/iam/v2/role_bindings_pb.ts";
import { JsonText, type WriteCall } from "../../api/call/call.ts";
import { implement, read, write } from "../../api/call/implement.ts";
import { defineResource } from "../../api/resource/define.ts";
import { writableFields } from "../../api/resource/field-mask.ts";
import { getBody } from "../../api/resource/get.ts";
import { listPage, listResponse } from "../../api/resource/list.ts";
import { standardMethods } from "../../api/resource/standard-methods.ts";
import { create, isDuplicate, prepareUpdate, save } from "../../api/resource/write.ts";
import { appendToCount } from "../../db/resource-count.ts";
import type { ReadDb } from "../../db/store.ts";
import type { ServiceDependencies } from "../../dependencies-services.ts";
import { alreadyExists, invalidArgument } from "../../lib/errors.ts";
import { parentOf } from "../../lib/uid.ts";
import { assertBindable } from "./bindable.ts";
import { hydrateRoleBindings } from "./hydrate-role-bindings.ts";

const MAX_BATCH = 25;

export const roleBindings = defineResource(RoleBindingSchema, {
  table: "role_binding",
  columns: (binding) => ({ identity_uid: binding.identityUid, role_uid: binding.roleUid }),
  filters: { identity: "identity_uid", group: "parent", role: "role_uid" },
  orderBy: ["uid", "create_time"],
});

export function roleBindingsService(dependencies: ServiceDependencies) {
  const { grants, pageTokens } = dependencies;
  return implement(RoleBindingsService, {
    ...standardMethods(RoleBindingsService, roleBindings, pageTokens),

    getRoleBinding: read(async ({ uid }, call) => {
      const stored = await getBody(roleBindings, uid, call.db);
      return hydrated(stored.text, call.db);
    }),

    listRoleBindings: read(async (request, call) => {
      const page = await listPage(roleBindings, request, call, pageTokens);
      return listResponse(ListRoleBindingsResponseSchema, { ...page, bodies: await hydrateRoleBindings(page.bodies, call.db) });
    }),

    createRoleBinding: write(async ({ parent, roleBinding }, call) => {
      const made = await bind(parent, roleBinding as RoleBinding, call, dependencies);
      return hydrated(made.text, call.db);
    }),

    batchCreateRoleBindings: write(async (request, call) => {
      const bodies: string[] = [];
      for (const binding of batchOf(request)) bodies.push((await bind(request.parent, binding, call, dependencies)).text);
      const all = await hydrateRoleBindings(bodies, call.db);
      return new JsonText(BatchCreateRoleBindingsResponseSchema, `{"roleBindings":[${all.join(",")}]}`);
    }),

    updateRoleBinding: write(async ({ roleBinding, updateMask }, call) => {
      const update = await prepareUpdate(roleBindings, roleBinding as RoleBinding, updateMask, call.db);
      await assertBindable(update.next, parentOf(update.next.uid), call, dependencies);
      const saved = await save(roleBindings, update, call).catch((thrown) => throwDuplicate(thrown, update.next));
      if (call.changed) await grants.changed(call.db, [update.current.identityUid, update.next.identityUid]);
      return hydrated(saved.text, call.db);
    }),

    // Deleting what is gone succeeds: whoever tears a tree down need not know what went with what.
    deleteRoleBinding: write(async ({ uid }, call) => {
      const { db } = call;
      const deleted = await db.deleteFrom("role_binding").where("uid", "=", uid).returning("identity_uid").executeTakeFirst();
      call.changed = deleted !== undefined;
      if (deleted !== undefined) {
        await appendToCount(db, "role_binding", uid, -1);
        await grants.changed(db, [deleted.identity_uid]);
      }
      return createMessage(EmptySchema);
    }),
  });
}

async function hydrated(text: string, db: ReadDb): Promise<JsonText<typeof RoleBindingSchema>> {
  const [body = text] = await hydrateRoleBindings([text], db);
  return new JsonText(RoleBindingSchema, body);
}

async function bind(
  parent: string,
  given: RoleBinding,
  call: WriteCall,
  dependencies: ServiceDependencies,
): Promise<JsonText<typeof RoleBindingSchema>> {
  const binding = writableFields(RoleBindingSchema, given);
  await assertBindable(binding, parent, call, dependencies);
  await assertNew(binding, parent, call.db);
  const made = await create(roleBindings, parent, binding, call).catch((thrown) => throwDuplicate(thrown, binding));
  await dependencies.grants.changed(call.db, [binding.identityUid]);
  return made;
}

/** The index would refuse it too, but could not say which binding is in the way. */
async function assertNew(binding: RoleBinding, parent: string, db: ReadDb): Promise<void> {
  const query = db.selectFrom("role_binding").select("uid").where("parent", "=", parent);
  const existing = await query.where("identity_uid", "=", binding.identityUid).where("role_uid", "=", binding.roleUid).executeTakeFirst();
  if (existing !== undefined) throw duplicate({ ...binding, uid: existing.uid });
}

function throwDuplicate(thrown: unknown, binding: RoleBinding): never {
  throw isDuplicate(thrown) ? duplicate(binding) : thrown;
}

function duplicate({ uid, identityUid, roleUid }: RoleBinding): Error {
  return alreadyExists("RoleBinding", uid, `identity ${identityUid} is bound to role ${roleUid} in this group`);
}

/** The bindings of a batch, each with its role. @throws INVALID_ARGUMENT */
function batchOf({ parent, requests, roleUid }: BatchCreateRoleBindingsRequest): RoleBinding[] {
  if (requests.length > MAX_BATCH) throw invalidArgument("requests", `requests must have at most ${MAX_BATCH} elements`);
  return requests.map((request, index) => {
    const binding = request.roleBinding ?? createMessage(RoleBindingSchema);
    if (request.parent !== "" && request.parent !== parent)
      throw invalidArgument(`requests[${index}].parent`, "parent must be that of the batch, or empty");
    if (roleUid !== "" && binding.roleUid !== "" && binding.roleUid !== roleUid)
      throw invalidArgument(`requests[${index}].role_binding.role_uid`, "role_uid must be that of the batch, or empty");
    if (binding.roleUid === "") binding.roleUid = roleUid;
    return binding;
  });
}
