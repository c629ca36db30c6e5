/** Subscriptions: webhooks for the events of a group and below. Immutable; a separate row holds the state of their deliveries. */
import { type Subscription, SubscriptionSchema, SubscriptionsService } from "@holt/api/gen/platform/events/v2/subscriptions_pb.ts";
import { implement, write } from "../../api/call/implement.ts";
import { defineResource } from "../../api/resource/define.ts";
import { assertNone } from "../../api/resource/names.ts";
import type { PageTokens } from "../../api/resource/page-token.ts";
import { standardMethods } from "../../api/resource/standard-methods.ts";
import { create, prepareCreate } from "../../api/resource/write.ts";
import { compileUrlCheck } from "../../outbound/url-check.ts";

export const subscriptions = defineResource(SubscriptionSchema, {
  table: "subscription",
  columns: ({ sink }) => ({ sink }),
  filters: {},
  orderBy: ["uid", "create_time", "update_time"],
});

export interface SubscriptionsCollaborators {
  readonly pageTokens: PageTokens;
  /** Networks that the operator lets Holt speak to, also without TLS. */
  readonly outboundAllowCidrs: readonly string[];
}

export function subscriptionsService(collaborators: SubscriptionsCollaborators) {
  const sinkViolations = compileUrlCheck("sink", collaborators.outboundAllowCidrs);
  const checked = { ...subscriptions, check: ({ sink }: Subscription) => assertNone(sinkViolations(sink)) };
  return implement(SubscriptionsService, {
    // A foreign key deletes the queue of a deleted subscription; its deliveries are pruned later.
    ...standardMethods(SubscriptionsService, subscriptions, collaborators),

    createSubscription: write(async ({ parent, subscription: given }, call) => {
      const subscription = prepareCreate(checked, given, call.now);
      const created = await create(subscriptions, parent, subscription, call);
      await call.db
        .insertInto("subscription_queue")
        .values({ subscription_uid: subscription.uid, failures: 0, pause_reason: "" })
        .execute();
      return created;
    }),
  });
}
