/** Finds subscriptions whose events do not arrive. */
import { AttentionItem_Kind } from "@holt/api/gen/holt/v1/attention_pb.ts";
import { Capability } from "@holt/api/gen/platform/capabilities/capabilities_pb.ts";
import type { AttentionSource } from "../../api/attention.ts";
import { timestampFromText } from "../../lib/clock.ts";

export const failingSubscriptions: AttentionSource = {
  capability: Capability.CAP_EVENTS_SUBSCRIPTION_LIST,
  async find({ range, limit }, db) {
    const rows = await db
      .selectFrom("subscription as s")
      .innerJoin("subscription_queue as q", "q.subscription_uid", "s.uid")
      .select(["s.uid", "s.sink", "q.failing_time", "q.pause_time"])
      .where("s.uid", ">=", range.lower)
      .where("s.uid", "<", range.upper)
      .where(({ or, eb }) => or([eb("q.failures", ">", 0), eb("q.pause_time", "is not", null)]))
      .orderBy("q.failing_time")
      .orderBy("s.uid")
      .limit(limit)
      .execute();
    return rows.map(({ uid, sink, failing_time, pause_time }) => {
      const time = failing_time ?? pause_time;
      return { kind: AttentionItem_Kind.WEBHOOK, uid, name: sink, ...(time !== null && { time: timestampFromText(time) }) };
    });
  },
};
