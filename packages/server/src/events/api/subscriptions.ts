/** Subscriptions: webhooks for the events of a group and below. A separate row holds the state of their deliveries. */
import { create as createMessage } from "@bufbuild/protobuf";
import { EmptySchema } from "@bufbuild/protobuf/wkt";
import { type Subscription, SubscriptionSchema, SubscriptionsService } from "@holt/api/gen/platform/events/v2/subscriptions_pb.ts";
import { implement, write } from "../../api/call/implement.ts";
import { defineResource } from "../../api/resource/define.ts";
import { assertNone } from "../../api/resource/names.ts";
import type { PageTokens } from "../../api/resource/page-token.ts";
import { standardMethods } from "../../api/resource/standard-methods.ts";
import { create, prepareCreate, remove } from "../../api/resource/write.ts";
import type { WriteDb } from "../../db/store.ts";
import { resourceExhausted } from "../../lib/errors.ts";
import { rangeBelow, rootOf } from "../../lib/uid.ts";
import { compilePlainUrlCheck, compileUrlCheck } from "../../outbound/url-check.ts";

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
  /** Subscriptions of one organization. */
  readonly maxSubscriptions: number;
  /** Whether a sink may have plain http on every host. */
  readonly acceptsPlainSinks?: boolean;
  /** Called when a subscription is deleted for good. Must not throw. */
  readonly onDelete: (uid: string) => void;
}

export function subscriptionsService(collaborators: SubscriptionsCollaborators) {
  const { acceptsPlainSinks = false, outboundAllowCidrs } = collaborators;
  const sinkViolations = acceptsPlainSinks ? compilePlainUrlCheck("sink") : compileUrlCheck("sink", outboundAllowCidrs);
  const checked = { ...subscriptions, check: ({ sink }: Subscription) => assertNone(sinkViolations(sink)) };
  return implement(SubscriptionsService, {
    // A foreign key deletes the queue of a deleted subscription; its deliveries are pruned later.
    ...standardMethods(SubscriptionsService, subscriptions, collaborators),

    createSubscription: write(async ({ parent, subscription: given }, call) => {
      const subscription = prepareCreate(checked, given, call.now);
      await assertBelowLimit(parent, collaborators.maxSubscriptions, call.db);
      const created = await create(subscriptions, parent, subscription, call);
      await call.db
        .insertInto("subscription_queue")
        .values({ subscription_uid: subscription.uid, failures: 0, pause_reason: "" })
        .execute();
      return created;
    }),

    deleteSubscription: write(async ({ uid }, { db }) => {
      await remove(subscriptions, uid, db);
      db.afterCommit(() => collaborators.onDelete(uid));
      return createMessage(EmptySchema);
    }),
  });
}

/** Each event is delivered once per subscription. @throws RESOURCE_EXHAUSTED */
async function assertBelowLimit(parent: string, limit: number, db: WriteDb): Promise<void> {
  const root = rootOf(parent);
  // Subscriptions of an organization are created one after another, so that the count holds.
  await db.dialect.forUpdate(db.selectFrom("group").select("uid").where("uid", "=", root)).execute();
  const { lower, upper } = rangeBelow(root);
  const all = db.selectFrom("subscription").select("uid").where("uid", ">", lower).where("uid", "<", upper);
  if ((await all.limit(limit).execute()).length < limit) return;
  throw resourceExhausted(`the organization has ${limit} subscriptions, which is the limit of this server: delete one`);
}
