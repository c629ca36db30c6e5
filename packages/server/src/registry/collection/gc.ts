/**
 * Collects content that nothing needs any more (garbage.ts has the rules), while the server serves: in small paced
 * steps (collection-walk.ts), and from where the last run stopped. Servers that share a PostgreSQL share the folder of
 * blobs, and one of them collects at a time.
 */
import type { BlobReference } from "../../blobs/references.ts";
import type { BlobStore } from "../../blobs/store.ts";
import type { Store } from "../../db/store.ts";
import { Loop } from "../../jobs/loop.ts";
import { createPace, type Pace } from "../../jobs/pace.ts";
import type { Clock } from "../../lib/clock.ts";
import type { Log } from "../../lib/log.ts";
import type { Uploads } from "../content/uploads.ts";
import { removeLostScans } from "../packages/lost-scans.ts";
import { BEGINNING, type CollectionLease, type Counts, claimCollection, lastFinished, type WalkProgress } from "./collection-state.ts";
import { createWalk, type Walk } from "./collection-walk.ts";
import { createDisposal, createDryRun } from "./disposal.ts";
import type { Garbage } from "./walk-phases.ts";

export interface CollectionReport extends Counts {
  /** False where the run was stopped; the next one goes on there. */
  readonly finished: boolean;
  /** Blobs that were not deleted because the blob store failed. */
  readonly failures: number;
}

export interface Collector {
  /**
   * Undefined while another server or process collects.
   * @param onGarbage called for each thing that is deleted
   */
  run(signal?: AbortSignal, onGarbage?: (garbage: Garbage) => void): Promise<CollectionReport | undefined>;
  /** Reports what a run would delete now, and deletes nothing. */
  preview(onGarbage: (garbage: Garbage) => void): Promise<CollectionReport>;
  /** Runs again and again until it is disposed of, each time about `intervalMs` after the end of the last run of any server. */
  start(intervalMs: number): AsyncDisposable;
}

export interface CollectorOptions {
  readonly store: Store;
  readonly blobs: BlobStore;
  /** The columns of all domains that keep a blob. */
  readonly references: readonly BlobReference[];
  readonly uploads: Uploads;
  readonly clock: Clock;
  readonly log: Log;
  /** How long content stays that nothing needs. */
  readonly graceMs: number;
  /** Keys per step. */
  readonly batchSize?: number;
  /** Called at the end of each run of the background. */
  readonly onCollected?: ((counts: Counts) => void) | undefined;
}

/** How long others have the database after each step, as a multiple of its time; and this process, where the database is in it. */
const PAUSE_FACTOR = { inProcess: 1.5, elsewhere: 0.75 };
const SAVE_MS = 2000;

export function createCollector(options: CollectorOptions): Collector {
  const { store, clock, log } = options;
  const pace = createPace({ pauseFactor: store.dialect.isInProcess ? PAUSE_FACTOR.inProcess : PAUSE_FACTOR.elsewhere });
  const collector: Collector = {
    async run(signal, onGarbage = () => {}) {
      const lease = await claimCollection(store, clock);
      if (lease === undefined) return undefined;
      const cutoff = cutoffOf(options);
      const disposal = createDisposal({ ...options, cutoff });
      const begin = (progress: WalkProgress) => createWalk({ ...options, cutoff, disposal, progress, onGarbage });
      let walk = begin(lease.progress);
      try {
        let finished = await walkToEnd(walk, { lease, signal, pace });
        if (finished && lease.progress !== BEGINNING) {
          // Finds what became garbage before the position where the last run stopped.
          walk = begin({ ...BEGINNING, counts: walk.progress().counts });
          finished = await walkToEnd(walk, { lease, signal, pace });
        }
        if (finished) await removeLostScans(store, clock.now(), signal);
        await lease.end(finished ? undefined : walk.progress());
        return { ...walk.progress().counts, finished, failures: disposal.failures() };
      } catch (error) {
        await lease
          .end(walk.progress())
          .catch((reason: unknown) => log.warn({ err: reason }, "the progress of a collection was not stored"));
        throw error;
      }
    },
    async preview(onGarbage) {
      const cutoff = cutoffOf(options);
      const walk = createWalk({ ...options, cutoff, disposal: createDryRun({ ...options, cutoff }), progress: BEGINNING, onGarbage });
      while (await walk.step());
      return { ...walk.progress().counts, finished: true, failures: 0 };
    },
    start: (intervalMs) => startCollecting(collector, options, intervalMs),
  };
  return collector;
}

interface WalkControl {
  readonly lease: CollectionLease;
  readonly signal: AbortSignal | undefined;
  readonly pace: Pace;
}

/** False where it was stopped. */
async function walkToEnd(walk: Walk, { lease, signal, pace }: WalkControl): Promise<boolean> {
  let saved = performance.now();
  while (signal?.aborted !== true) {
    if (!(await pace(() => walk.step()))) return true;
    if (performance.now() - saved <= SAVE_MS) continue;
    saved = performance.now();
    if (!(await lease.save(walk.progress()))) return false;
  }
  return false;
}

/** A server does not collect in its first minute, when its clients come back. */
const FIRST_MS = 60_000;
/** While another server collects, or has just done so. */
const MIN_WAIT_MS = 1000;

function startCollecting(collector: Collector, { store, clock, log, onCollected }: CollectorOptions, intervalMs: number): AsyncDisposable {
  const stop = new AbortController();
  let waitsSince = performance.now();
  const untilDue = async (): Promise<number> => {
    const finished = await lastFinished(store.reader);
    const waited = performance.now() - waitsSince;
    if (finished === undefined) return Math.min(intervalMs, FIRST_MS) - waited;
    const left = finished.getTime() + intervalMs - clock.now().getTime();
    return Math.max(Math.min(left, intervalMs), Math.min(MIN_WAIT_MS, intervalMs) - waited);
  };
  const collect = async (): Promise<void> => {
    try {
      const report = await collector.run(stop.signal);
      if (report !== undefined) onCollected?.(report);
      if (report !== undefined) log.info(report, "collected what no repository needs");
      waitsSince = performance.now();
    } catch (error) {
      log.error({ err: error }, "a collection failed; the next one goes on where it stopped");
      waitsSince = performance.now() + intervalMs;
    }
  };
  const loop = new Loop({
    name: "collecting content",
    log,
    spacingMs: 0,
    async step() {
      const wait = await untilDue();
      if (wait > 0) return wait;
      await collect();
      return 0;
    },
  });
  return {
    async [Symbol.asyncDispose]() {
      stop.abort();
      await loop[Symbol.asyncDispose]();
    },
  };
}

function cutoffOf({ clock, graceMs }: CollectorOptions): string {
  return new Date(clock.now().getTime() - graceMs).toISOString();
}
