/** Subscriptions in version 1 of the API. */
import { Subscriptions } from "@holt/api/gen/platform/events/v1/subscriptions_pb.ts";
import { implement } from "../../api/call/implement.ts";
import { deriveMethods } from "../../api/v1/derive-methods.ts";
import { type SubscriptionsCollaborators, subscriptionsService } from "../api/subscriptions.ts";

export function subscriptionsServiceV1(collaborators: SubscriptionsCollaborators) {
  const subscriptions = subscriptionsService({ ...collaborators, acceptsPlainSinks: true });
  return implement(Subscriptions, deriveMethods(Subscriptions, { services: [subscriptions], kind: "Subscription" }), "Subscription");
}
