/**
 * Leases on rows: one server at a time works on a row, for as long as it renews its lease.
 *
 * A leased table has two columns. `lease_holder` names the server, `lease_time` is when the lease ends; both are null
 * while nobody has the row. A lease that has ended still counts as held until another server claims the row. A server
 * that lost its lease must not write what it found out: `hold` and `lockHeld` check that in the transaction of the
 * write.
 */
import { randomUUID } from "node:crypto";
import { type RawBuilder, sql } from "kysely";
import type { Schema } from "../db/schema.ts";
import type { ReadDb, Store, WriteDb } from "../db/store.ts";
import type { Clock } from "../lib/clock.ts";

interface LeaseColumns {
  lease_holder: string | null;
  lease_time: string | null;
}

type LeasedTable = { [Name in keyof Schema]: Schema[Name] extends LeaseColumns ? Name : never }[keyof Schema];

/** The columns of a row that nobody has. */
export const RELEASED = { lease_holder: null, lease_time: null };

export interface LeaseOptions {
  readonly store: Store;
  readonly clock: Clock;
  readonly table: LeasedTable;
  /** The column that is the primary key of the table. */
  readonly key: string;
  readonly durationMs: number;
}

export interface Lease {
  /** Names this server among those that share the database, from its start to its end. */
  readonly holder: string;
  /** Duration of a lease that is not renewed. */
  readonly durationMs: number;
  /** A condition on a row of the table: no server has an unexpired lease on it. */
  isFree(): RawBuilder<boolean>;
  /** The opposite of `isFree`. */
  isHeld(): RawBuilder<boolean>;
  /** Claims those of the rows that are free. @returns their keys */
  claim(db: WriteDb, keys: readonly string[]): Promise<Set<string>>;
  /** @param also what changes in the same transaction, if this server still has any of them. @returns the keys of those rows */
  renew(keys: readonly string[], also?: (db: WriteDb) => Promise<unknown>): Promise<Set<string>>;
  /** @returns the keys of the rows whose lease this server still has, even if it has ended. Takes no lock. */
  heldAmong(db: ReadDb, keys: readonly string[]): Promise<Set<string>>;
  /** Like `heldAmong`, and locks these rows until the transaction ends, in the order of their keys. */
  lockHeld(db: WriteDb, keys: readonly string[]): Promise<Set<string>>;
  /** Runs `work` in a transaction that has locked the row. False, without running it, if this server does not have the row any more. */
  hold(key: string, work: (db: WriteDb) => Promise<unknown>): Promise<boolean>;
  /** Releases all rows of this server. */
  releaseAll(): Promise<void>;
  /**
   * Releases rows that a killed server left behind, where no other server can share the database. Call it once,
   * before the first claim.
   * @param keys of a table whose other rows have other uses; by default all rows
   */
  releaseLeftBehind(keys?: readonly string[]): Promise<void>;
}

/** A condition on the column `lease_time`: a server has a lease that has not ended. */
export function isLeaseHeld(now: Date, durationMs: number): RawBuilder<boolean> {
  return sql<boolean>`(lease_time >= ${timeAfter(now, 0)} and lease_time <= ${latestEnd(now, durationMs)})`;
}

function isLeaseFree(now: Date, durationMs: number): RawBuilder<boolean> {
  return sql<boolean>`(lease_time is null or lease_time < ${timeAfter(now, 0)} or lease_time > ${latestEnd(now, durationMs)})`;
}

/** A lease that ends later than any server could set it is not held: the clock was ahead, and was corrected. */
const latestEnd = (now: Date, durationMs: number) => timeAfter(now, 2 * durationMs);

const timeAfter = (now: Date, ms: number) => new Date(now.getTime() + ms).toISOString();

/** The statements on the rows of a leased table. */
function leasedRows({ clock, key, durationMs, table: name }: LeaseOptions, holder: string) {
  // All leased tables have the columns that are used here.
  const table = name as "subscription_queue";
  const keyColumn = sql.ref<string>(key);
  const end = () => timeAfter(clock.now(), durationMs);
  const isAmong = (db: ReadDb, keys: readonly string[]) =>
    sql<boolean>`${keyColumn} in (select v.value from ${db.dialect.valuesOf(keys)} as v)`;
  return {
    held: (db: ReadDb, keys: readonly string[]) =>
      db
        .selectFrom(table)
        .select(keyColumn.as("key"))
        .where("lease_holder", "=", holder)
        // A server of an older version knows this column only.
        .where("lease_time", "is not", null)
        .where(isAmong(db, keys))
        .orderBy(keyColumn),
    claim: (db: WriteDb, keys: readonly string[]) => {
      const update = db.updateTable(table).set({ lease_holder: holder, lease_time: end() }).where(isAmong(db, keys));
      return update.where(isLeaseFree(clock.now(), durationMs)).returning(keyColumn.as("key"));
    },
    renew: (db: WriteDb, keys: readonly string[]) => db.updateTable(table).set({ lease_time: end() }).where(isAmong(db, keys)),
    /** @param keys by default all rows */
    release: (db: WriteDb, keys?: readonly string[]) => {
      const released = db.updateTable(table).set(RELEASED).where("lease_time", "is not", null);
      return keys === undefined ? released : released.where(isAmong(db, keys));
    },
  };
}

export function createLease(options: LeaseOptions): Lease {
  const { store, clock, durationMs } = options;
  const holder = randomUUID();
  const rows = leasedRows(options, holder);

  async function lockHeld(db: WriteDb, keys: readonly string[]): Promise<Set<string>> {
    return keys.length === 0 ? new Set() : keysOf(await db.dialect.forUpdate(rows.held(db, keys)).execute());
  }

  return {
    holder,
    durationMs,
    isFree: () => isLeaseFree(clock.now(), durationMs),
    isHeld: () => isLeaseHeld(clock.now(), durationMs),
    lockHeld,
    claim: async (db, keys) => (keys.length === 0 ? new Set() : keysOf(await rows.claim(db, keys).execute())),
    renew: (keys, also) =>
      store.transaction(async (db) => {
        const held = await lockHeld(db, keys);
        if (held.size === 0) return held;
        await rows.renew(db, [...held]).execute();
        await also?.(db);
        return held;
      }),
    heldAmong: async (db, keys) => (keys.length === 0 ? new Set() : keysOf(await rows.held(db, keys).execute())),
    hold: (key, work) =>
      store.transaction(async (db) => {
        if ((await lockHeld(db, [key])).size === 0) return false;
        await work(db);
        return true;
      }),
    async releaseAll() {
      await store.transaction((db) => rows.release(db).where("lease_holder", "=", holder).execute());
    },
    async releaseLeftBehind(keys) {
      if (store.dialect.notify === undefined) await store.transaction((db) => rows.release(db, keys).execute());
    },
  };
}

function keysOf(rows: readonly { readonly key: string }[]): Set<string> {
  return new Set(rows.map(({ key }) => key));
}
