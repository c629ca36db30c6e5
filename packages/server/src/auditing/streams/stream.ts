/**
 * Streams sealed entries to one target, at least once and in order. One server at a time has the lease of the stream. The place of the
 * last entry that the target has is stored after it was sent.
 */
import { decideState, readState } from "../../db/server-state.ts";
import type { ReadDb, Store } from "../../db/store.ts";
import { createLease } from "../../jobs/lease.ts";
import { Loop } from "../../jobs/loop.ts";
import type { Clock } from "../../lib/clock.ts";
import type { Log } from "../../lib/log.ts";
import { sha256Hex } from "../../lib/sha256.ts";
import type { Location } from "../chain/block.ts";
import { readLocated } from "../chain/located-entries.ts";
import { readSealState } from "../chain/seal.ts";
import type { Target } from "./targets.ts";

export interface StreamParts {
  readonly store: Store;
  readonly clock: Clock;
  readonly log: Log;
}

const ENTRIES_PER_BATCH = 200;
const LEASE_MS = 120_000;
const RENEW_MS = 30_000;
/** Looks this often for new entries, and for a lease that another server has let go. */
const POLL_MS = 1000;

/** A new stream begins with the entries that are sealed from now on. */
export function startStream(url: URL, target: Target, { store, clock, log }: StreamParts): AsyncDisposable {
  const name = `audit_stream ${sha256Hex(url.href)}`;
  const lease = createLease({ store, clock, table: "server_state", key: "name", durationMs: LEASE_MS });
  let renewAt: number | undefined;
  let isPrepared = false;

  /** Claims the lease, or renews it in time. */
  async function hold(): Promise<boolean> {
    if (renewAt !== undefined && performance.now() < renewAt) return true;
    if (!isPrepared) await lease.releaseLeftBehind([name]);
    isPrepared = true;
    renewAt = undefined;
    const isHeld = (await lease.renew([name])).size > 0 || (await store.transaction((db) => lease.claim(db, [name]))).size > 0;
    if (isHeld) renewAt = performance.now() + RENEW_MS;
    return isHeld;
  }

  async function step(): Promise<number> {
    const stored = await readState(store.reader, name);
    const place = stored ?? (await store.transaction(async (db) => decideState(db, name, await endOfLog(db))));
    const locations = await locationsAfter(store.reader, place);
    if (locations.length === 0 || !(await hold())) return POLL_MS;
    // A target may refuse a large batch, and would then refuse it for ever.
    const { entries, count } = await readLocated(store.reader, locations);
    await target(entries);
    const isStored = await lease.hold(name, (db) =>
      db
        .updateTable("server_state")
        .set({ value: textOf(locations[count - 1] as Location) })
        .where("name", "=", name)
        .execute(),
    );
    if (!isStored) renewAt = undefined;
    return count < locations.length || count === ENTRIES_PER_BATCH ? 0 : POLL_MS;
  }

  const loop = new Loop({ name: `streaming the audit log to ${url.protocol}//${url.host}`, log, spacingMs: 0, step });
  return {
    async [Symbol.asyncDispose]() {
      await loop[Symbol.asyncDispose]();
      await lease.releaseAll().catch((err: unknown) => log.warn({ err }, "the lease of an audit stream was not released"));
    },
  };
}

/** `block.index` of the last entry that was sent. */
function textOf({ block, index }: Location): string {
  return `${block}.${index}`;
}

/** After all entries of the last block. */
async function endOfLog(db: ReadDb): Promise<string> {
  return textOf({ block: (await readSealState(db)).block, index: Number.MAX_SAFE_INTEGER });
}

async function locationsAfter(db: ReadDb, place: string): Promise<Location[]> {
  const [lastBlock = 0, lastIndex = 0] = place.split(".").map(Number);
  const query = db.selectFrom("audit_block").select(["id", "count"]).where("id", ">=", lastBlock);
  const blocks = await query
    .orderBy("id")
    .limit(ENTRIES_PER_BATCH + 1)
    .execute();
  const locations: Location[] = [];
  for (const { id, count } of blocks) {
    const block = Number(id);
    for (let index = block === lastBlock ? lastIndex + 1 : 0; index < count && locations.length < ENTRIES_PER_BATCH; index++)
      locations.push({ block, index });
  }
  return locations;
}
