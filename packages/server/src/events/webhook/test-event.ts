/** Makes a test event, which reports no change. It goes to one subscription, so that its owner sees whether deliveries arrive. */
import { randomUUID } from "node:crypto";
import type { WriteDb } from "../../db/store.ts";
import { parentOf } from "../../lib/uid.ts";
import { type EventedCall, type EventNames, plainData } from "../../outbox/outbox.ts";

export interface TestEvent {
  readonly subscriptionUid: string;
  readonly actor: EventedCall["actor"];
  readonly now: Date;
}

/** @returns its id */
export async function appendTestEvent(
  db: WriteDb,
  { subscriptionUid, actor, now }: TestEvent,
  { profile, baseUrl, onAppend }: EventNames,
): Promise<string> {
  const id = randomUUID();
  const group = parentOf(subscriptionUid);
  await db
    .insertInto("outbox")
    .values({
      id,
      type: `${profile.eventPrefix}.holt.test.v1`,
      source: `${baseUrl}/holt/v1/subscriptions`,
      subject: subscriptionUid,
      group_uid: group,
      time: now.toISOString(),
      audience: "test",
      body_type: "",
      extensions: "{}",
      data: plainData({ actor, group, body: { uid: subscriptionUid } }),
    })
    .execute();
  db.afterCommit(onAppend);
  return id;
}
