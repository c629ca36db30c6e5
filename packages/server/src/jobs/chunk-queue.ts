/**
 * A queue of work that takes many short transactions. Each row of its table is one item with a lease; one item at a time
 * is worked on, in chunks with pauses. Organizations take turns, so that none waits for another's backlog.
 */
import { sql } from "kysely";
import type { Schema } from "../db/schema.ts";
import type { ReadDb, Store, WriteDb } from "../db/store.ts";
import type { Clock } from "../lib/clock.ts";
import type { Log } from "../lib/log.ts";
import { ROOT_LENGTH } from "../lib/uid.ts";
import { createLease, type Lease, RELEASED } from "./lease.ts";
import { createPace } from "./pace.ts";
import { LostLease, Worker } from "./worker.ts";

/** Renewals within the duration of a lease. */
const RENEWALS_PER_LEASE = 4;
/** How often to look for items that other servers queued or left behind. */
const POLL_MS = 2000;
/** Other writers have at least half of the time. */
const PAUSE_FACTOR = 1;
/** Then the next organization has its turn. */
const CHUNKS_PER_TURN = 10;

interface ItemColumns {
  request_time: string;
  lease_holder: string | null;
  lease_time: string | null;
}

type QueueTable = { [Name in keyof Schema]: Schema[Name] extends ItemColumns ? Name : never }[keyof Schema];

export interface ChunkQueueOptions {
  /** What the queue does, for the log: "copying fields to synced repos". */
  readonly name: string;
  readonly store: Store;
  readonly clock: Clock;
  readonly log: Log;
  readonly table: QueueTable;
  /** The column that is the primary key. Its values begin with the uid of something in an organization. */
  readonly key: string;
  /** How long a lease on an item lasts unless it is renewed. */
  readonly leaseMs: number;
  /**
   * Works on the next chunk of an item, and updates or deletes its row. Calls `lockItem` before it reads the row, and
   * after it has locked what writers lock before they queue an item.
   * @returns false after the last chunk
   */
  runChunk(db: WriteDb, key: string, lockItem: () => Promise<void>): Promise<boolean>;
}

export interface ChunkQueue {
  readonly lease: Lease;
  /** @param after the organization that had the last turn @returns the key of the item that is next; undefined for none */
  claim(after: string): Promise<string | undefined>;
  /** @returns false after the last chunk @throws LostLease */
  runChunk(key: string): Promise<boolean>;
  /** Gives the item back, for its organization's next turn. */
  release(key: string): Promise<void>;
}

/** The columns of an item that was just queued. */
export function queuedItem(now: Date): ItemColumns {
  return { request_time: now.toISOString(), ...RELEASED };
}

export function createChunkQueue({
  store,
  clock,
  table: name,
  key,
  leaseMs,
  runChunk,
}: Omit<ChunkQueueOptions, "name" | "log">): ChunkQueue {
  // All tables of queues have the columns that are used here.
  const table = name as "repo_share";
  const lease = createLease({ store, clock, table, key, durationMs: leaseMs });
  const keyColumn = sql.ref<string>(key);
  const free = (db: ReadDb) => db.selectFrom(table).select(keyColumn.as("key")).where(lease.isFree());
  const firstAfter = async (db: ReadDb, from: string) =>
    (await free(db).where(keyColumn, ">", from).orderBy(keyColumn).limit(1).executeTakeFirst())?.key.slice(0, ROOT_LENGTH);

  return {
    lease,
    claim: (after) =>
      store.transaction(async (db) => {
        // "0" follows "/", so this passes over everything in the organization.
        const organization = (await firstAfter(db, `${after}0`)) ?? (await firstAfter(db, ""));
        if (organization === undefined) return undefined;
        const ofOrganization = free(db).where(keyColumn, ">=", organization).where(keyColumn, "<", `${organization}0`);
        const query = ofOrganization.orderBy("request_time").orderBy(keyColumn).limit(1);
        const row = await db.dialect.forClaim(query).executeTakeFirst();
        return row && [...(await lease.claim(db, [row.key]))][0];
      }),
    runChunk: (item) =>
      store.transaction((db) =>
        runChunk(db, item, async () => {
          if (!(await lease.lockHeld(db, [item])).has(item)) throw new LostLease(item);
        }),
      ),
    async release(item) {
      await lease.hold(item, (db) => db.updateTable(table).set(RELEASED).where(keyColumn, "=", item).execute());
    },
  };
}

export function startChunkQueue(options: ChunkQueueOptions): Worker<string> {
  const { name, log, store } = options;
  const queue = createChunkQueue(options);
  const pollMs = store.dialect.notify === undefined ? Number.POSITIVE_INFINITY : POLL_MS;
  let organization = "";
  return new Worker<string>({
    name,
    log,
    lease: queue.lease,
    renewMs: options.leaseMs / RENEWALS_PER_LEASE,
    maxRuns: 1,
    keyOf: (item) => item,
    async claim() {
      const item = await queue.claim(organization);
      organization = item?.slice(0, ROOT_LENGTH) ?? "";
      return { claimed: item === undefined ? [] : [item], nextMs: pollMs };
    },
    async run(item, signal) {
      try {
        await runTurn(queue, item, signal);
      } catch (error) {
        if (!(error instanceof LostLease) && !signal.aborted) throw error;
      }
    },
  });
}

async function runTurn(queue: ChunkQueue, item: string, signal: AbortSignal): Promise<void> {
  const pace = createPace({ pauseFactor: PAUSE_FACTOR, signal });
  for (let chunks = 0; chunks < CHUNKS_PER_TURN; chunks++) if (!(await pace(() => queue.runChunk(item)))) return;
  await queue.release(item);
}
