/** Runs queues that have something to send. claim-queues.ts claims them, and queue-run.ts sends the deliveries of one. */
import { type Claims, LostLease, Worker } from "../../jobs/worker.ts";
import type { Log } from "../../lib/log.ts";
import { claimQueues } from "./claim-queues.ts";
import { createOutcomeLog } from "./outcome-log.ts";
import { type QueueRunOptions, type QueueRunResult, runQueue } from "./queue-run.ts";
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
/** How long a queue is not claimed after a run that made no attempt, because of a fault of this server. */
const FAULT_MS = 1000;
/** How long a slow queue is not claimed after it found no slot: there may be many of them, and searching them takes long. */
const FULL_MS = 2000;

export function startDispatcher(options: DispatcherOptions): Dispatcher {
  const { store, clock, log, pollMs } = options;
  const queues = createQueues(store, clock);
  const outcomes = createOutcomeLog({ store, clock, log, lease: queues.lease });
  const slots = createDeliverySlots(() => worker.wake());
  const hardStop = new AbortController();
  const after = (ms: number) => new Date(clock.now().getTime() + ms).toISOString();

  async function claim(): Promise<Claims<ClaimedQueue>> {
    const { claimed, nextMs } = await claimQueues({ queues, slots, clock, pollMs });
    return { claimed: claimed.filter(admit), nextMs };
  }

  /** Releases a queue that has no slot. */
  function admit({ uid, health }: ClaimedQueue): boolean {
    const isAdmitted = worker.isRunning(uid) || slots.hasSlot(uid, health.failures > 0);
    if (!isAdmitted) void outcomes.release({ uid, health, recoveredSince: null, notBefore: after(FULL_MS) });
    return isAdmitted;
  }

  async function run(queue: ClaimedQueue, signal: AbortSignal): Promise<void> {
    const { uid } = queue;
    const { health, recoveredSince, attempts } = await send(queue, signal);
    // The row may have been claimed again, and its next run knows more of the sink's health.
    if (signal.reason instanceof LostLease) return;
    const notBefore = attempts === 0 && !signal.aborted ? after(FAULT_MS) : null;
    await outcomes.release({ uid, health, recoveredSince, notBefore });
  }

  async function send(queue: ClaimedQueue, signal: AbortSignal): Promise<QueueRunResult> {
    const { uid, health } = queue;
    using slot = slots.occupy(uid, health.failures > 0);
    const control = {
      isOver: () => signal.aborted || !worker.holds(uid),
      signal: AbortSignal.any([hardStop.signal, lostLeaseOf(signal)]),
      onAttempt: () => slot.onAttempt(),
      isWanted: async () => !slot.isSpare() || (await queues.isShareExceeded()),
    };
    try {
      return await runQueue(queue, { ...options, outcomes }, control);
    } catch (error) {
      log.error({ err: error, subscription: uid }, "deliveries could not be made; they are tried again");
      return { health, recoveredSince: null, attempts: 0 };
    }
  }

  const worker = new Worker<ClaimedQueue>({
    name: "delivering events",
    log,
    lease: queues.lease,
    renewMs: RENEW_MS,
    keyOf: ({ uid }) => uid,
    claim,
    run,
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

/** Aborted when the lease is lost, but not when the server stops: then attempts may go on for a while. */
function lostLeaseOf(signal: AbortSignal): AbortSignal {
  const lost = new AbortController();
  const onAbort = () => signal.reason instanceof LostLease && lost.abort(signal.reason);
  if (signal.aborted) onAbort();
  else signal.addEventListener("abort", onAbort, { once: true });
  return lost.signal;
}
