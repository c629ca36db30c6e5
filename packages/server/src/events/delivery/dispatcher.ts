/** Runs queues that have something to send. claim-queues.ts claims them, and claimed-run.ts runs one. */
import { type ClaimResult, Worker } from "../../jobs/worker.ts";
import type { Log } from "../../lib/log.ts";
import { type ClaimParts, claimQueues } from "./claim-queues.ts";
import { type RunParts, releaseFor, runClaimed } from "./claimed-run.ts";
import { createOutcomeLog } from "./outcome-log.ts";
import type { QueueRunOptions } from "./queue-run.ts";
import { type ClaimedQueue, createQueues } from "./queues.ts";
import { createDeliverySlots } from "./slots.ts";

export interface DispatcherOptions extends Omit<QueueRunOptions, "outcomes"> {
  readonly log: Log;
  /** See `ClaimParts`. */
  readonly pollMs: number;
}

export interface Dispatcher extends AsyncDisposable {
  /** There may be something to send. */
  wake(): void;
  /** The subscription is deleted or has another sink: its run ends, with the attempt that is under way. */
  discard(uid: string): void;
}

const RENEW_MS = 3000;
/** How long attempts may go on when the server stops. */
const STOP_MS = 2000;
/** How long a slow queue is not claimed after it found no slot: there may be many of them, and searching them takes long. */
const FULL_MS = 2000;

export function startDispatcher(options: DispatcherOptions): Dispatcher {
  const { store, clock, log } = options;
  const queues = createQueues(store, clock);
  const outcomes = createOutcomeLog({ store, clock, log, lease: queues.lease });
  const slots = createDeliverySlots(() => worker.wake());
  const hardStop = new AbortController();
  const parts = { ...options, queues, outcomes, slots, hardStop: hardStop.signal };
  const worker: Worker<ClaimedQueue> = new Worker({
    name: "delivering events",
    log,
    lease: queues.lease,
    renewMs: RENEW_MS,
    keyOf: ({ uid }) => uid,
    claim: () => claimAdmitted(parts, (uid) => worker.isRunning(uid)),
    run: (queue, signal) => runClaimed(queue, parts, { signal, isOver: () => signal.aborted || !worker.holds(queue.uid) }),
  });
  return {
    wake: () => worker.wake(),
    discard: (uid) => worker.abort(uid),
    /** Attempts may go on for a while; their outcomes are recorded, and the leases are released. */
    async [Symbol.asyncDispose]() {
      const timer = setTimeout(() => {
        hardStop.abort();
        void outcomes.close();
      }, STOP_MS);
      await worker[Symbol.asyncDispose]();
      clearTimeout(timer);
      await outcomes.close();
    },
  };
}

/** Claims queues, and releases those that have no slot. */
async function claimAdmitted(parts: ClaimParts & RunParts, isRunning: (uid: string) => boolean): Promise<ClaimResult<ClaimedQueue>> {
  const { claimed, nextMs } = await claimQueues(parts);
  function admit({ uid, health }: ClaimedQueue): boolean {
    const isAdmitted = isRunning(uid) || parts.slots.hasSlot(uid, health.failures > 0);
    if (!isAdmitted) void releaseFor(FULL_MS, { uid, health, recoveredSince: null }, parts);
    return isAdmitted;
  }
  return { claimed: claimed.filter(admit), nextMs };
}
