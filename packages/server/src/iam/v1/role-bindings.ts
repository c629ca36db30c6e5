/** Role bindings in version 1 of the API: flat when they are written, with the whole group and role in lists. */
import type { JsonObject, Message } from "@bufbuild/protobuf";
import { create as createMessage } from "@bufbuild/protobuf";
import { EmptySchema } from "@bufbuild/protobuf/wkt";
import { GroupSchema as GroupV1Schema } from "@holt/api/gen/platform/iam/v1/groups_pb.ts";
import {
  RoleBindingBatchSchema,
  RoleBindings,
  RoleBindingSchema as RoleBindingV1Schema,
} from "@holt/api/gen/platform/iam/v1/role_bindings_pb.ts";
import { RoleSchema as RoleV1Schema } from "@holt/api/gen/platform/iam/v1/roles_pb.ts";
import { GroupSchema } from "@holt/api/gen/platform/iam/v2/groups_pb.ts";
import { type RoleBinding, RoleBindingSchema } from "@holt/api/gen/platform/iam/v2/role_bindings_pb.ts";
import { RoleSchema } from "@holt/api/gen/platform/iam/v2/roles_pb.ts";
import { JsonText, type WriteCall } from "../../api/call/call.ts";
import { implement, write } from "../../api/call/implement.ts";
import { compileJsonConverter } from "../../api/v1/convert-json.ts";
import { compileMessageConverter } from "../../api/v1/convert-message.ts";
import { deriveMethods } from "../../api/v1/derive-methods.ts";
import { translateError } from "../../api/v1/field-names.ts";
import type { Differences } from "../../api/v1/field-pairs.ts";
import { invalidArgument, notFound, withinField } from "../../lib/errors.ts";
import { parentOf } from "../../lib/uid.ts";
import type { WholeRoleBinding } from "../api/hydrate-role-bindings.ts";
import { bind, deleteBinding, listWholeBindings, type RoleBindingsCollaborators, roleBindingsService } from "../api/role-bindings.ts";
import { groupDifferences } from "./groups.ts";
import { roleDifferences } from "./roles.ts";

/** One transaction creates all bindings of a batch. */
const MAX_BATCH = 100;

const groupOf = compileJsonConverter(GroupSchema, GroupV1Schema, groupDifferences);
const roleOf = compileJsonConverter(RoleSchema, RoleV1Schema, roleDifferences);

const differences: Differences = {
  "platform.iam.v1.RoleBinding": {
    renamed: { identity: "identity_uid", role: "role_uid" },
    answered: { group: ({ uid }: JsonObject) => parentOf(uid as string) },
  },
  "platform.iam.v1.RoleBindingList.Binding": {
    answered: {
      group: (binding) => groupOf((binding as WholeRoleBinding).wholeGroup),
      identity: ({ identityUid = "" }) => identityUid,
      role: (binding) => roleOf((binding as WholeRoleBinding).wholeRole),
      email: (binding) => (binding as WholeRoleBinding).identity.email,
      claim_match_issuer: (binding) => (binding as WholeRoleBinding).identity.issuer,
      claim_match_subject: (binding) => (binding as WholeRoleBinding).identity.subject,
      email_unverified: (binding) => (binding as WholeRoleBinding).emailUnverified,
    },
  },
};

const fromV1 = compileMessageConverter(RoleBindingV1Schema, RoleBindingSchema, differences);
const toV1 = compileJsonConverter(RoleBindingSchema, RoleBindingV1Schema, differences);

export function roleBindingsServiceV1(collaborators: RoleBindingsCollaborators) {
  const services = [listWholeBindings(collaborators), roleBindingsService(collaborators)];
  return implement(
    RoleBindings,
    {
      ...deriveMethods(RoleBindings, { services, kind: "RoleBinding", differences }),

      createBatch: write(async ({ parent, roleBindings }, call) => {
        if (roleBindings.length === 0 || roleBindings.length > MAX_BATCH)
          throw invalidArgument("role_bindings", `role_bindings must have 1 to ${MAX_BATCH} elements`);
        const created: JsonObject[] = [];
        for (const [index, given] of roleBindings.entries()) {
          const one = await createOne(parent, given, call, collaborators).catch((error: unknown) => {
            throw withinField(error, `role_bindings[${index}]`);
          });
          created.push(one);
        }
        return new JsonText(RoleBindingBatchSchema, JSON.stringify({ roleBindings: created }));
      }),

      // Unlike in version 2, a binding that does not exist is not found.
      delete: write(async ({ id }, call) => {
        await deleteBinding(id, call, collaborators);
        if (!call.changed) throw notFound("RoleBinding", id);
        return createMessage(EmptySchema);
      }),
    },
    "RoleBinding",
  );
}

async function createOne(parent: string, given: Message, call: WriteCall, collaborators: RoleBindingsCollaborators): Promise<JsonObject> {
  const { text } = await bind(parent, fromV1(given) as RoleBinding, call, collaborators).catch((error) => {
    throw translateError(error, [{ v1: RoleBindingV1Schema, v2: RoleBindingSchema }], differences);
  });
  return toV1(JSON.parse(text) as JsonObject);
}
