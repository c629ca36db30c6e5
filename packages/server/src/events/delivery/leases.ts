/** Who works off which queue: claims on rows of `subscription_queue`, which hold for a while and are renewed. One server at a time sends to a subscription. */
import { randomUUID } from "node:crypto";
import { sql } from "kysely";
import type { Store, WriteDb } from "../../db/store.ts";
import type { Clock } from "../../lib/clock.ts";
import { lockHeld } from "./release.ts";
import type { Health } from "./retry.ts";
import type { Shares } from "./shares.ts";

const LEASE_MS = 10_000;
/** Of the uid of an organization, with which those of its subscriptions begin. */
const ROOT_LENGTH = 40;

export interface Claimed {
  readonly uid: string;
  readonly health: Health;
}

/** Where claimed queues find places: those of sinks that are well, and those whose last attempt failed. */
export interface Room {
  readonly healthy: Shares;
  readonly failing: Shares;
}

export interface Due {
  /** Whether there is a queue to claim. */
  readonly isDue: boolean;
  /** When the next one is; null for none. */
  readonly next: string | null;
}

export interface Leases {
  /** Names this server among those that share the database, from its start to its end. */
  readonly holder: string;
  look(): Promise<Due>;
  /** Takes the places of what it claims. @param limit of each kind */
  claim(room: Room, limit?: number): Promise<Claimed[]>;
  /** @returns which of them are still held */
  renew(uids: readonly string[]): Promise<Set<string>>;
  /** Gives back what is held; what is due is sent by whoever comes next. */
  releaseAll(): Promise<void>;
  /** Makes void what a server left behind that was killed. For a database that has no other server. */
  releaseForeign(): Promise<void>;
}

export function createLeases(store: Store, clock: Clock): Leases {
  const holder = randomUUID();
  const now = () => clock.now().toISOString();
  const end = () => new Date(clock.now().getTime() + LEASE_MS).toISOString();
  const free = { lease_holder: null, lease_time: null };
  return {
    holder,
    look: () => look(store, now()),
    claim: ({ healthy, failing }, limit = Number.POSITIVE_INFINITY) =>
      store.transaction(async (db) => [
        ...(await claim(db, "=", healthy, limit, { holder, now: now(), end: end() })),
        ...(await claim(db, ">", failing, limit, { holder, now: now(), end: end() })),
      ]),
    renew: (uids) => store.transaction((db) => renew(db, uids, holder, end())),
    async releaseAll() {
      await store.transaction((db) => db.updateTable("subscription_queue").set(free).where("lease_holder", "=", holder).execute());
    },
    async releaseForeign() {
      await store.transaction((db) => db.updateTable("subscription_queue").set(free).where("lease_holder", "is not", null).execute());
    },
  };
}

async function renew(db: WriteDb, uids: readonly string[], holder: string, end: string): Promise<Set<string>> {
  const held = await lockHeld(db, uids, holder);
  await db
    .updateTable("subscription_queue")
    .set({ lease_time: end })
    .where("subscription_uid", "in", db.selectFrom(db.dialect.valuesOf([...held]).as("v")).select("v.value"))
    .execute();
  return held;
}

async function look({ reader }: Store, now: string): Promise<Due> {
  const queues = reader.selectFrom("subscription_queue").where("pause_time", "is", null);
  const due = queues
    .where("next_time", "<=", now)
    .where(({ or, eb }) => or([eb("lease_time", "is", null), eb("lease_time", "<", now)]))
    .select(sql<number>`1`.as("one"))
    .limit(1);
  const next = queues.where("next_time", ">", now).select(({ fn }) => fn.min("next_time").as("next"));
  const row = await reader.selectNoFrom([due.as("due"), next.as("next")]).executeTakeFirstOrThrow();
  return { isDue: row.due !== null, next: row.next };
}

interface Term {
  readonly holder: string;
  readonly now: string;
  readonly end: string;
}

/** Oldest first, of each organization as many as find a place: one that has many leaves room for those behind it. */
async function claim(db: WriteDb, failures: "=" | ">", shares: Shares, limit: number, term: Term): Promise<Claimed[]> {
  const claimed: Claimed[] = [];
  for (let isMore = true; isMore; ) {
    const rows = await readUnclaimed(db, failures, shares.full(), Math.min(shares.free(), limit - claimed.length), term.now);
    const fitting = rows.filter(({ subscription_uid: uid }) => {
      const hasRoom = shares.hasRoom(uid);
      if (hasRoom) shares.take(uid);
      return hasRoom;
    });
    const found = fitting.map(({ subscription_uid: uid, ...health }) => ({ uid, health }));
    await lease(db, found, term);
    claimed.push(...found);
    // Whose queue was passed over is full now, and is not asked for again.
    isMore = fitting.length < rows.length;
  }
  return claimed;
}

async function readUnclaimed(db: WriteDb, failures: "=" | ">", full: readonly string[], limit: number, now: string) {
  if (limit <= 0) return [];
  const { forClaim, valuesOf } = db.dialect;
  const root = sql<string>`substr(subscription_uid, 1, ${sql.lit(ROOT_LENGTH)})`;
  const due = db
    .selectFrom("subscription_queue")
    .select(["subscription_uid", "failures", "failing_time", "hold_time", "pause_time", "pause_reason"])
    .where("next_time", "<=", now)
    .where("pause_time", "is", null)
    .where(({ or, eb }) => or([eb("lease_time", "is", null), eb("lease_time", "<", now)]))
    .where("failures", failures, 0)
    .$if(full.length > 0, (query) => query.where(root, "not in", db.selectFrom(valuesOf(full).as("v")).select("v.value")))
    .orderBy("next_time")
    .limit(limit);
  return forClaim(due).execute();
}

async function lease(db: WriteDb, found: readonly Claimed[], { holder, end }: Term): Promise<void> {
  if (found.length === 0) return;
  const uids = found.map(({ uid }) => uid);
  await db
    .updateTable("subscription_queue")
    .set({ lease_holder: holder, lease_time: end })
    .where("subscription_uid", "in", db.selectFrom(db.dialect.valuesOf(uids).as("v")).select("v.value"))
    .execute();
}
