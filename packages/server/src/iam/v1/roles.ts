/** Roles in version 1 of the API, where capabilities have string names: `groups.list`. */
import type { JsonObject, JsonValue } from "@bufbuild/protobuf";
import { capabilityByName, capabilityName } from "@holt/api";
import { CapabilitySchema } from "@holt/api/gen/platform/capabilities/capabilities_pb.ts";
import { type RoleFilter, Roles, type Role as RoleV1 } from "@holt/api/gen/platform/iam/v1/roles_pb.ts";
import type { ListRolesRequest, Role } from "@holt/api/gen/platform/iam/v2/roles_pb.ts";
import { implement, type ServiceImplementation } from "../../api/call/implement.ts";
import { deriveMethods } from "../../api/v1/derive-methods.ts";
import type { Differences } from "../../api/v1/field-pairs.ts";
import { confineToChildren } from "../../api/v1/list-all.ts";
import { invalidArgument } from "../../lib/errors.ts";

const NAMES: ReadonlyMap<JsonValue | undefined, string> = new Map(
  CapabilitySchema.values.filter(({ number }) => number !== 0).map(({ name, number }) => [name, capabilityName(number)]),
);

export const roleDifferences: Differences = {
  "platform.iam.v1.Role": {
    // A number without a name is that of a capability that no longer exists.
    answered: {
      capabilities: ({ capabilities = [] }: JsonObject) => (capabilities as JsonValue[]).flatMap((each) => NAMES.get(each) ?? []),
    },
    received: ({ capabilities }: RoleV1, role: Role) => {
      role.capabilities = capabilities.map(capabilityNamed);
    },
  },
  "platform.iam.v1.RoleFilter": {
    absent: ["parent"],
    received: ({ parent }: RoleFilter, request: ListRolesRequest) => confineToChildren(request, parent),
  },
};

function capabilityNamed(name: string) {
  const capability = capabilityByName.get(name);
  if (capability === undefined) throw invalidArgument("capabilities", `"${name.slice(0, 100)}" is not the name of a capability`);
  return capability;
}

export function rolesServiceV1(roles: ServiceImplementation) {
  return implement(Roles, deriveMethods(Roles, { services: [roles], kind: "Role", differences: roleDifferences }), "Role");
}
