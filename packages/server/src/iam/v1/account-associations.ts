/** Account associations in version 1 of the API, which names an association by its group. */
import { create } from "@bufbuild/protobuf";
import { UIDPFilterSchema } from "@holt/api/gen/platform/common/v1/uidp_pb.ts";
import { type AccountAssociationsFilter, GroupAccountAssociations } from "@holt/api/gen/platform/iam/v1/account_associations_pb.ts";
import type { ListAccountAssociationsRequest } from "@holt/api/gen/platform/iam/v2/account_associations_pb.ts";
import { implement, type ServiceImplementation } from "../../api/call/implement.ts";
import { deriveMethods } from "../../api/v1/derive-methods.ts";
import type { Differences } from "../../api/v1/field-pairs.ts";

const differences: Differences = {
  "platform.iam.v1.AccountAssociations": { renamed: { group: "uid" }, parent: "group" },
  "platform.iam.v1.AccountAssociationsFilter": {
    absent: ["group"],
    received: ({ group }: AccountAssociationsFilter, request: ListAccountAssociationsRequest) => {
      if (group !== "") request.uidp = create(UIDPFilterSchema, { ids: [group] });
    },
  },
  "platform.iam.v1.DeleteAccountAssociationsRequest": { renamed: { group: "uid" } },
  "platform.iam.v1.AccountAssociationsCheckRequest": { renamed: { group: "uid", account_type: "provider_type" } },
  "platform.iam.v1.AccountAssociationsStatus": { renamed: { ready: "status" } },
};

export function accountAssociationsServiceV1(associations: ServiceImplementation) {
  const methods = { Check: "CheckAccountAssociation" };
  const origin = { services: [associations], kind: "AccountAssociation", differences, methods };
  return implement(GroupAccountAssociations, deriveMethods(GroupAccountAssociations, origin), "AccountAssociation");
}
