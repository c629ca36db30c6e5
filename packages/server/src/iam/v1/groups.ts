/** Groups in version 1 of the API. */
import { Groups } from "@holt/api/gen/platform/iam/v1/groups_pb.ts";
import { implement, type ServiceImplementation } from "../../api/call/implement.ts";
import { deriveMethods } from "../../api/v1/derive-methods.ts";
import type { Differences } from "../../api/v1/field-pairs.ts";

export const groupDifferences: Differences = {
  // Clients of version 1 send whole groups without these fields, which must not reset them: an organization would lose its unique name.
  "platform.iam.v1.Group": { keptIfUnset: ["kind", "verified"] },
};

export function groupsServiceV1(groups: ServiceImplementation) {
  return implement(Groups, deriveMethods(Groups, { services: [groups], kind: "Group", differences: groupDifferences }), "Group");
}
