/** Role bindings: an identity has a role at a group and below. Stored as three uids, answered with the names of what the uids stand for. */
import { create as createMessage } from "@bufbuild/protobuf";
import { EmptySchema } from "@bufbuild/protobuf/wkt";
import {
  type BatchCreateRoleBindingsRequest,
  BatchCreateRoleBindingsResponseSchema,
  type RoleBinding,
  RoleBindingSchema,
  RoleBindingsService,
} from "@holt/api/gen/platform/iam/v2/role_bindings_pb.ts";
import { sql } from "kysely";
import { type Call, JsonText, type WriteCall } from "../../api/call/call.ts";
import { implement, write } from "../../api/call/implement.ts";
import { defineResource } from "../../api/resource/define.ts";
import { assertNone } from "../../api/resource/names.ts";
import type { PageTokens } from "../../api/resource/page-token.ts";
import { standardMethods } from "../../api/resource/standard-methods.ts";
import { create, prepareCreate, prepareUpdate, save } from "../../api/resource/write.ts";
import type { ReadDb } from "../../db/store.ts";
import { alreadyExists, invalidArgument, withinField } from "../../lib/errors.ts";
import { parentOf } from "../../lib/uid.ts";
import { deleteBindingsOf } from "../grants/bindings.ts";
import { assertBindable, uidViolations } from "./bindable.ts";
import type { EscalationCollaborators } from "./escalation.ts";
import { hydrateRoleBindings, hydrateWholeRoleBindings } from "./hydrate-role-bindings.ts";

const MAX_BATCH = 25;

export const roleBindings = defineResource(RoleBindingSchema, {
  table: "role_binding",
  columns: (binding) => ({ identity_uid: binding.identityUid, role_uid: binding.roleUid }),
  filters: { identity: "identity_uid", group: "parent", role: "role_uid" },
  orderBy: ["uid", "create_time"],
  check({ identityUid, roleUid }) {
    assertNone([...uidViolations("identity_uid", identityUid), ...uidViolations("role_uid", roleUid)]);
  },
  nameTaken: duplicate,
});

export interface RoleBindingsCollaborators extends EscalationCollaborators {
  readonly pageTokens: PageTokens;
}

export function roleBindingsService(collaborators: RoleBindingsCollaborators) {
  const { grants, pageTokens } = collaborators;
  return implement(RoleBindingsService, {
    ...standardMethods(RoleBindingsService, roleBindings, {
      pageTokens,
      show: (bodies, { db }) => hydrateRoleBindings(bodies, db),
    }),

    createRoleBinding: write(async ({ parent, roleBinding }, call) => {
      const created = await bind(parent, roleBinding, call, collaborators);
      return hydrated(created.text, call.db);
    }),

    batchCreateRoleBindings: write(async (request, call) => {
      const bodies: string[] = [];
      for (const [index, binding] of bindingsOf(request).entries()) {
        const created = await bind(request.parent, binding, call, collaborators).catch((error: unknown) => {
          throw withinField(error, `requests[${index}].role_binding`);
        });
        bodies.push(created.text);
      }
      const all = await hydrateRoleBindings(bodies, call.db);
      return new JsonText(BatchCreateRoleBindingsResponseSchema, `{"roleBindings":[${all.join(",")}]}`);
    }),

    updateRoleBinding: write(async ({ roleBinding, updateMask }, call) => {
      const update = await prepareUpdate(roleBindings, roleBinding, updateMask, call);
      const { current, next } = update;
      await assertBindable(next, parentOf(next.uid), call, collaborators);
      await assertNew(next, parentOf(next.uid), call.db);
      const saved = await save(roleBindings, update, call);
      if (call.changed) await grants.recordChange(call.db, [current.identityUid, next.identityUid]);
      return hydrated(saved.text, call.db);
    }),

    // Deleting a missing binding succeeds: a client that tears down a tree need not know which bindings went with it.
    deleteRoleBinding: write(async ({ uid }, call) => {
      await deleteBinding(uid, call, collaborators);
      return createMessage(EmptySchema);
    }),
  });
}

/** SQL of the bytes of a binding with its group and role. */
const BYTES_OF_WHOLE = sql`octet_length(body)
  + coalesce((select octet_length(g.body) from "group" as g where g.uid = role_binding.parent), 0)
  + coalesce((select octet_length(r.body) from role as r where r.uid = role_binding.role_uid), 0)`;

/** The list with the whole group and role of each binding, for version 1. */
export function listWholeBindings({ pageTokens }: RoleBindingsCollaborators) {
  const show = (bodies: readonly string[], { db }: Call) => hydrateWholeRoleBindings(bodies, db);
  const { listRoleBindings } = standardMethods(RoleBindingsService, roleBindings, { pageTokens, show, bytesOfRow: BYTES_OF_WHOLE });
  return implement(RoleBindingsService, { listRoleBindings: listRoleBindings! });
}

/** The call counts as unchanged if there is no such binding. */
export async function deleteBinding(uid: string, call: WriteCall, { grants }: EscalationCollaborators): Promise<void> {
  const [deleted] = await deleteBindingsOf(call.db, sql<boolean>`uid = ${uid}`);
  call.changed = deleted !== undefined;
  if (deleted !== undefined) await grants.recordChange(call.db, [deleted.identity_uid]);
}

async function hydrated(text: string, db: ReadDb): Promise<JsonText<typeof RoleBindingSchema>> {
  const [body = text] = await hydrateRoleBindings([text], db);
  return new JsonText(RoleBindingSchema, body);
}

/** Creates a binding after all checks. @returns it as stored, without names */
export async function bind(
  parent: string,
  given: RoleBinding | undefined,
  call: WriteCall,
  collaborators: EscalationCollaborators,
): Promise<JsonText<typeof RoleBindingSchema>> {
  const binding = prepareCreate(roleBindings, given, call.now);
  await assertBindable(binding, parent, call, collaborators);
  await assertNew(binding, parent, call.db);
  const created = await create(roleBindings, parent, binding, call);
  await collaborators.grants.recordChange(call.db, [binding.identityUid]);
  return created;
}

/** The unique index would refuse a duplicate too, but could not say which other binding exists already. */
async function assertNew(binding: RoleBinding, parent: string, db: ReadDb): Promise<void> {
  const query = db.selectFrom("role_binding").select("uid").where("parent", "=", parent);
  const existing = await query.where("identity_uid", "=", binding.identityUid).where("role_uid", "=", binding.roleUid).executeTakeFirst();
  if (existing !== undefined && existing.uid !== binding.uid) throw duplicate({ ...binding, uid: existing.uid });
}

function duplicate({ uid, identityUid, roleUid }: RoleBinding): Error {
  return alreadyExists("RoleBinding", uid, `identity ${identityUid} is bound to role ${roleUid} in this group`);
}

/** The bindings of a batch, each with its role. @throws INVALID_ARGUMENT */
function bindingsOf({ parent, requests, roleUid }: BatchCreateRoleBindingsRequest): RoleBinding[] {
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
