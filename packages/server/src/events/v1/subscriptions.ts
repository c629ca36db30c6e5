/** Subscriptions in version 1 of the API. */
import { Subscriptions } from "@holt/api/gen/platform/events/v1/subscriptions_pb.ts";
import { implement, type ServiceImplementation } from "../../api/call/implement.ts";
import { deriveMethods } from "../../api/v1/derive-methods.ts";

export function subscriptionsServiceV1(subscriptions: ServiceImplementation) {
  return implement(Subscriptions, deriveMethods(Subscriptions, { services: [subscriptions], kind: "Subscription" }), "Subscription");
}
