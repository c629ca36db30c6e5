/** Terms in version 1 of the API. */
import { Terms } from "@holt/api/gen/platform/iam/v1/terms_pb.ts";
import { implement, type ServiceImplementation } from "../../api/call/implement.ts";
import { deriveMethods } from "../../api/v1/derive-methods.ts";
import type { Differences } from "../../api/v1/field-pairs.ts";

const differences: Differences = {
  "platform.iam.v1.TermsDocumentStatus": { renamed: { accepted_at: "create_time" } },
};

export function termsServiceV1(terms: ServiceImplementation) {
  const methods = { ListAccepted: "ListTermsAcceptances" };
  return implement(Terms, deriveMethods(Terms, { services: [terms], kind: "Terms", differences, methods }));
}
