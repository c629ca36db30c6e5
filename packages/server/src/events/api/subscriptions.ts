/** Subscriptions: webhooks for what happens in a group and below. Immutable; how their deliveries do is a row beside them. */
import { type Subscription, SubscriptionSchema, SubscriptionsService } from "@holt/api/gen/platform/events/v2/subscriptions_pb.ts";
import { implement, write } from "../../api/call/implement.ts";
import { defineResource } from "../../api/resource/define.ts";
import { writableFields } from "../../api/resource/field-mask.ts";
import { assertNone } from "../../api/resource/names.ts";
import { standardMethods } from "../../api/resource/standard-methods.ts";
import { create } from "../../api/resource/write.ts";
import type { ServiceDependencies } from "../../dependencies-services.ts";
import { compileUrlCheck } from "../../outbound/url-check.ts";

export const subscriptions = defineResource(SubscriptionSchema, {
  table: "subscription",
  columns: ({ sink }) => ({ sink }),
  filters: {},
  orderBy: ["uid", "create_time", "update_time"],
});

export function subscriptionsService({ pageTokens, outboundAllowCidrs }: ServiceDependencies) {
  const sinkViolations = compileUrlCheck("sink", outboundAllowCidrs);
  return implement(SubscriptionsService, {
    // Deleting one takes its queue with it, by the foreign key; its deliveries are pruned when there is time.
    ...standardMethods(SubscriptionsService, subscriptions, pageTokens),

    createSubscription: write(async ({ parent, subscription: given }, call) => {
      const subscription = writableFields(SubscriptionSchema, given as Subscription);
      assertNone(sinkViolations(subscription.sink));
      const created = await create(subscriptions, parent, subscription, call);
      await call.db
        .insertInto("subscription_queue")
        .values({ subscription_uid: subscription.uid, failures: 0, pause_reason: "" })
        .execute();
      return created;
    }),
  });
}
