/** Reports the outbox, the deliveries and the subscriptions. */
import type { ReadDb, Store } from "../../db/store.ts";
import { MAX_COUNTED, READ_EVERY_MS } from "../../jobs/queue-usage.ts";
import type { Clock } from "../../lib/clock.ts";
import type { Counter, Meter } from "../../lib/meter.ts";

/** Counts attempts to deliver by their outcome. */
export function createDeliveryCounter(meter: Meter): Counter {
  return meter.counter({
    name: "holt_deliveries_total",
    help: "Attempts to deliver an event. delivered: the sink accepted it; pending: it is tried again; failed: it was given up.",
    labels: { outcome: new Set(["delivered", "pending", "failed"]) },
  });
}

interface Parts {
  readonly store: Store;
  readonly clock: Clock;
  readonly meter: Meter;
}

export function meterEvents({ store, clock, meter }: Parts): void {
  const gauge = (name: string, help: string, read: (db: ReadDb) => Promise<number>) =>
    meter.read({ type: "gauge", name, help, everyMs: READ_EVERY_MS }, async () => [{ value: await read(store.reader) }]);
  gauge("holt_outbox_backlog", `Events that are committed and not yet published, at most ${MAX_COUNTED}.`, countUnpublished);
  gauge("holt_outbox_oldest_age_seconds", "Age of the oldest event that is not yet published; 0 for none.", async (db) => {
    const first = await db.selectFrom("outbox").select("time").where("position", "is", null).orderBy("seq").limit(1).executeTakeFirst();
    return first === undefined ? 0 : Math.max(0, (clock.now().getTime() - Date.parse(first.time)) / 1000);
  });
  gauge("holt_subscriptions_paused", "Subscriptions that are paused because their sink accepted nothing for too long.", async (db) => {
    const count = db.fn.countAll<number>().as("count");
    return (await db.selectFrom("subscription_queue").select(count).where("pause_time", "is not", null).executeTakeFirst())?.count ?? 0;
  });
}

async function countUnpublished(db: ReadDb): Promise<number> {
  const unpublished = db.selectFrom("outbox").select("seq").where("position", "is", null).limit(MAX_COUNTED).as("o");
  return (await db.selectFrom(unpublished).select(db.fn.countAll<number>().as("count")).executeTakeFirst())?.count ?? 0;
}
