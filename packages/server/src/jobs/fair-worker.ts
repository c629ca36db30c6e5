/** A worker whose slots organizations share: none of them can keep the others waiting with slow runs. */
import type { SelectQueryBuilder } from "kysely";
import type { Schema } from "../db/schema.ts";
import type { ReadDb, Store, WriteDb } from "../db/store.ts";
import { claimFairly, createSlots, type SlotPolicy, type Slots } from "./fair-share.ts";
import { Worker, type WorkerOptions } from "./worker.ts";

type SharedOptions<Item> = Pick<WorkerOptions<Item>, "name" | "log" | "lease" | "renewMs" | "keyOf" | "run">;

export interface FairWorkerOptions<Table extends keyof Schema, Row, Item> extends SharedOptions<Item> {
  readonly store: Store;
  readonly policy: SlotPolicy;
  /** How often to look for rows that are due. */
  readonly pollMs: number;
  /** The rows that are due, the oldest first, without those of the organizations that are full. */
  due(db: ReadDb, full: readonly string[]): SelectQueryBuilder<Schema, Table, Row>;
  /** The key of a row that is due. */
  uidOf(row: Row): string;
  /** Prepares the run of a claimed row, in the transaction that claims it. */
  begin(db: WriteDb, row: Row): Promise<Item>;
}

export function startFairWorker<Table extends keyof Schema, Row, Item>(options: FairWorkerOptions<Table, Row, Item>): Worker<Item> {
  const { policy, pollMs, keyOf, run } = options;
  const slots = createSlots(policy);
  return new Worker<Item>({
    ...options,
    maxRuns: policy.slots,
    async claim() {
      const claimed = await claimDue(options, slots);
      for (const item of claimed) slots.take(keyOf(item));
      return { claimed, nextMs: claimed.length > 0 ? 0 : pollMs };
    },
    async run(item, signal) {
      try {
        await run(item, signal);
      } finally {
        slots.giveBack(keyOf(item));
      }
    },
  });
}

async function claimDue<Table extends keyof Schema, Row, Item>(
  { store, lease, policy, due, uidOf, begin }: FairWorkerOptions<Table, Row, Item>,
  slots: Slots,
): Promise<Item[]> {
  // Most of the time nothing is due, and that needs no transaction.
  if ((await due(store.reader, slots.full()).limit(1).executeTakeFirst()) === undefined) return [];
  return store.transaction(async (db) => {
    const rows = await claimFairly({
      slots: slots.copy(),
      limit: policy.slots,
      read: (full, count) => db.dialect.forClaim(due(db, full).limit(count)).execute(),
      uidOf,
      claim: (claimed) => lease.claim(db, claimed.map(uidOf)),
    });
    const items: Item[] = [];
    for (const row of rows) items.push(await begin(db, row));
    return items;
  });
}
