/** Reports how much work waits in the tables of background workers, for how long, and how much is under way. */
import { type RawBuilder, sql } from "kysely";
import type { Schema } from "../db/schema.ts";
import type { ReadDb, Store } from "../db/store.ts";
import type { Clock } from "../lib/clock.ts";
import type { Labels, Meter, Sample } from "../lib/meter.ts";
import { isLeaseHeld } from "./lease.ts";

/** A table whose rows are work for a background worker. */
export interface JobQueue {
  /** The value of the label `queue`. */
  readonly name: string;
  readonly table: keyof Schema;
  /** Which rows wait; all of them by default. */
  readonly where?: RawBuilder<boolean>;
  /** The column with the time since when a row waits. A row with a later time, or none, does not wait. */
  readonly since?: string;
  /** The table with the leases of the work that is under way, if it is another one. */
  readonly leases?: keyof Schema;
  /** How long these leases last unless they are renewed. */
  readonly leaseMs: number;
}

/** Rows are counted up to this number, so that a scrape of a long queue stays cheap. */
export const MAX_COUNTED = 10_000;
/** The counts are queries, so scrapes share them for this time. */
export const READ_EVERY_MS = 10_000;

export interface QueueUsageOptions {
  readonly store: Store;
  readonly clock: Clock;
  readonly meter: Meter;
  readonly queues: readonly JobQueue[];
}

interface Waiting {
  readonly count: number;
  /** The earliest time; null if nothing waits, or no time is known. */
  readonly first: string | null;
}

export function meterQueues({ store, clock, meter, queues }: QueueUsageOptions): void {
  const labels: Labels = { queue: new Set(queues.map(({ name }) => name)) };
  const define = (name: string, help: string, read: (queue: JobQueue) => Promise<number>) =>
    meter.read({ type: "gauge", name, help, labels, everyMs: READ_EVERY_MS }, () =>
      Promise.all(queues.map(async (queue): Promise<Sample> => ({ value: await read(queue), labelValues: [queue.name] }))),
    );
  const now = () => clock.now().toISOString();
  define("holt_jobs_waiting", `Work that waits for a background worker, at most ${MAX_COUNTED}.`, async (queue) => {
    return (await readWaiting(store.reader, queue, now())).count;
  });
  define("holt_jobs_oldest_age_seconds", "How long the oldest of it has waited; 0 if nothing waits.", async (queue) => {
    const { first } = await readWaiting(store.reader, queue, now());
    return first === null ? 0 : Math.max(0, (clock.now().getTime() - Date.parse(first)) / 1000);
  });
  define("holt_jobs_running", "Work that background workers of all servers have claimed.", (queue) =>
    countRunning(store.reader, queue, clock.now()),
  );
}

async function readWaiting(db: ReadDb, { table, where, since }: JobQueue, now: string): Promise<Waiting> {
  const time = since === undefined ? sql`null` : sql.ref(since);
  const due = since === undefined ? sql<boolean>`1 = 1` : sql<boolean>`${time} <= ${now}`;
  const order = since === undefined ? sql`` : sql`order by ${time}`;
  const rows = sql`select ${time} as since from ${sql.table(table)} where ${due} and ${where ?? sql`1 = 1`} ${order} limit ${sql.lit(MAX_COUNTED)}`;
  const query = sql<Waiting>`select count(*) as count, min(w.since) as first from (${rows}) as w`;
  return (await query.execute(db)).rows[0] ?? { count: 0, first: null };
}

async function countRunning(db: ReadDb, { table, leases = table, leaseMs }: JobQueue, now: Date): Promise<number> {
  const query = sql<{ count: number }>`select count(*) as count from ${sql.table(leases)} where ${isLeaseHeld(now, leaseMs)}`;
  return (await query.execute(db)).rows[0]?.count ?? 0;
}
