/** External group role mappings in version 1 of the API. */
import { ExternalGroupRoleMappings } from "@holt/api/gen/platform/iam/v1/external_group_role_mappings_pb.ts";
import { implement, type ServiceImplementation } from "../../api/call/implement.ts";
import { deriveMethods } from "../../api/v1/derive-methods.ts";
import type { Differences } from "../../api/v1/field-pairs.ts";

const differences: Differences = {
  "platform.iam.v1.CreateExternalGroupRoleMappingRequest": { renamed: { mapping: "external_group_role_mapping" } },
  "platform.iam.v1.BatchDeleteExternalGroupRoleMappingsRequest": { renamed: { ids: "names" } },
  "platform.iam.v1.BatchDeleteExternalGroupRoleMappingsResponse": { renamed: { items: "external_group_role_mappings" } },
};

export function externalGroupRoleMappingsServiceV1(mappings: ServiceImplementation) {
  const kind = "ExternalGroupRoleMapping";
  const methods = { BatchDelete: "BatchDeleteExternalGroupRoleMappings" };
  const derived = deriveMethods(ExternalGroupRoleMappings, { services: [mappings], kind, differences, methods });
  return implement(ExternalGroupRoleMappings, derived, kind, "IdentityProvider");
}
