/**
 * Collection of what nobody needs any more (`garbage.ts` has the rules), while everything else goes on: never all at once (`collection-walk.ts`), with
 * pauses, and from where the last one was cut short. Any number of servers may share a PostgreSQL; one of them collects at a time, and the folder
 * of blobs must be the same for all of them.
 */
import { setTimeout as sleep } from "node:timers/promises";
import type { BlobReference } from "../../blobs/references.ts";
import type { BlobStore } from "../../blobs/store.ts";
import type { Store } from "../../db/store.ts";
import type { Clock } from "../../lib/clock.ts";
import type { Log } from "../../lib/log.ts";
import type { Uploads } from "../content/uploads.ts";
import { removeLostScans } from "../packages/lost-scans.ts";
import { BEGINNING, type Counts, type Lease, lastFinished, type Progress, takeLease } from "./collection-state.ts";
import { createWalk, type Garbage, type Walk } from "./collection-walk.ts";
import { createDisposal, createPretence } from "./disposal.ts";

export interface CollectionReport extends Counts {
  /** False where it was stopped; the next run goes on there. */
  readonly finished: boolean;
}

export interface Collector {
  /**
   * Undefined while another server or process collects.
   * @param onGarbage is told of each thing that is gone
   */
  run(signal?: AbortSignal, onGarbage?: (garbage: Garbage) => void): Promise<CollectionReport | undefined>;
  /** Tells what a run that began now would remove, were nothing to change meanwhile; removes nothing. */
  preview(onGarbage: (garbage: Garbage) => void): Promise<CollectionReport>;
  /** Runs again and again until it is disposed of, each run about `intervalMs` after the end of the last one, whichever server did that. */
  start(intervalMs: number): AsyncDisposable;
}

export interface CollectorOptions {
  readonly store: Store;
  readonly blobs: BlobStore;
  /** Of all domains: what keeps a blob. */
  readonly references: readonly BlobReference[];
  readonly uploads: Uploads;
  readonly clock: Clock;
  readonly log: Log;
  /** How long everything stays that nothing needs. */
  readonly graceMs: number;
  /** Keys that are looked at in one piece. */
  readonly pieceSize?: number;
}

/** Of a piece's time: how long everybody else has the database in between, and this process where that is one with the database. */
const PAUSE_FACTOR = { inProcess: 1.5, elsewhere: 0.75 };
const SAVE_MS = 2000;

export function createCollector(options: CollectorOptions): Collector {
  const { store, log } = options;
  const pauseFactor = store.dialect.isInProcess ? PAUSE_FACTOR.inProcess : PAUSE_FACTOR.elsewhere;
  const complete = (walk: Walk, lease: Lease, signal: AbortSignal | undefined) => walkToEnd(walk, { lease, signal, pauseFactor });
  const collector: Collector = {
    async run(signal, onGarbage = () => {}) {
      const lease = await takeLease(store);
      if (lease === undefined) return undefined;
      const cutoff = cutoffOf(options);
      const disposal = createDisposal({ ...options, cutoff });
      const begin = (progress: Progress) => createWalk({ ...options, cutoff, disposal, progress, onGarbage });
      let walk = begin(lease.progress);
      try {
        let finished = await complete(walk, lease, signal);
        if (finished && lease.progress !== BEGINNING) {
          // What became garbage behind the place where the last run was cut short.
          walk = begin({ ...BEGINNING, counts: walk.progress().counts });
          finished = await complete(walk, lease, signal);
        }
        if (finished) await removeLostScans(store, options.clock.now(), signal);
        await lease.end(finished ? undefined : walk.progress());
        return { ...walk.progress().counts, finished };
      } catch (error) {
        await lease.end(walk.progress()).catch((reason: unknown) => log.warn({ err: reason }, "a collection's progress was not stored"));
        throw error;
      }
    },
    async preview(onGarbage) {
      const cutoff = cutoffOf(options);
      const walk = createWalk({ ...options, cutoff, disposal: createPretence({ ...options, cutoff }), progress: BEGINNING, onGarbage });
      while (await walk.step());
      return { ...walk.progress().counts, finished: true };
    },
    start: (intervalMs) => repeat(collector, options, intervalMs),
  };
  return collector;
}

interface Pace {
  readonly lease: Lease;
  readonly signal: AbortSignal | undefined;
  readonly pauseFactor: number;
}

/** False where it was stopped. */
async function walkToEnd(walk: Walk, { lease, signal, pauseFactor }: Pace): Promise<boolean> {
  let saved = performance.now();
  for (;;) {
    if (signal?.aborted) return false;
    const begun = performance.now();
    if (!(await walk.step())) return true;
    const now = performance.now();
    if (now - saved > SAVE_MS) {
      saved = now;
      if (!(await lease.save(walk.progress()))) return false;
    }
    await sleep(Math.min(pauseFactor * (now - begun), 1000));
  }
}

/** The loop of the server's own collections. */
function repeat(collector: Collector, { store, log }: CollectorOptions, intervalMs: number): AsyncDisposable {
  const stop = new AbortController();
  const { signal } = stop;
  const loop = async () => {
    for (;;) {
      await sleep(await untilDue(store, intervalMs).catch(() => intervalMs), undefined, { signal, ref: false });
      try {
        const report = await collector.run(signal);
        if (report !== undefined) log.info(report, "collected what no repository needs");
      } catch (error) {
        log.error({ err: error }, "a collection failed; the next one goes on where it was");
        await sleep(intervalMs, undefined, { signal, ref: false });
      }
    }
  };
  const running = loop().catch(() => {});
  return {
    async [Symbol.asyncDispose]() {
      stop.abort();
      await running;
    },
  };
}

/** A server's first minute belongs to those who waited for it. */
const FIRST_MS = 60_000;
/** While another server collects, or has just done so. */
const LEAST_MS = 1000;

async function untilDue(store: Store, intervalMs: number): Promise<number> {
  const finished = await lastFinished(store.reader);
  if (finished === undefined) return Math.min(intervalMs, FIRST_MS);
  const left = finished.getTime() + intervalMs - Date.now();
  return Math.min(Math.max(left, LEAST_MS), intervalMs);
}

function cutoffOf({ clock, graceMs }: CollectorOptions): string {
  return new Date(clock.now().getTime() - graceMs).toISOString();
}
