/** Runs a claimed queue in a slot, and releases it. */
import { LostLease } from "../../jobs/worker.ts";
import type { Log } from "../../lib/log.ts";
import { type QueueRunOptions, type QueueRunResult, runQueue } from "./queue-run.ts";
import type { ClaimedQueue, Queues } from "./queues.ts";
import type { Release } from "./release.ts";
import type { DeliverySlots } from "./slots.ts";

export interface RunParts extends QueueRunOptions {
  readonly log: Log;
  readonly queues: Queues;
  readonly slots: DeliverySlots;
  /** Aborted when attempts that are under way must end, because the server stops. */
  readonly hardStop: AbortSignal;
}

/** The claim of the queue, which ends when the server stops or loses the lease. */
export interface RunClaim {
  readonly signal: AbortSignal;
  isOver(): boolean;
}

/** How long a queue is not claimed after a run that made no attempt, or that a fault of this server ended. */
const FAULT_MS = 1000;

export async function runClaimed(queue: ClaimedQueue, parts: RunParts, claim: RunClaim): Promise<void> {
  const { uid } = queue;
  const { signal } = claim;
  const { health, recoveredSince, attempts, fault } = await send(queue, parts, claim);
  if (fault !== undefined) parts.log.error({ err: fault.error, subscription: uid }, "deliveries could not be made; they are tried again");
  // The row may have been claimed again, and its next run knows more of the sink's health.
  if (signal.reason instanceof LostLease) return;
  const pauseMs = (attempts === 0 || fault !== undefined) && !signal.aborted ? FAULT_MS : undefined;
  await releaseFor(pauseMs, { uid, health, recoveredSince }, parts);
}

/** @param pauseMs how long the queue is not claimed */
export function releaseFor(
  pauseMs: number | undefined,
  release: Omit<Release, "notBefore">,
  { outcomes, clock }: Pick<RunParts, "outcomes" | "clock">,
): Promise<void> {
  const notBefore = pauseMs === undefined ? null : new Date(clock.now().getTime() + pauseMs).toISOString();
  return outcomes.release({ ...release, notBefore });
}

async function send(queue: ClaimedQueue, parts: RunParts, { signal, isOver }: RunClaim): Promise<QueueRunResult> {
  const { uid, health } = queue;
  const { slots, queues, hardStop } = parts;
  using slot = slots.occupy(uid, health.failures > 0);
  const control = {
    isOver,
    signal: AbortSignal.any([hardStop, lostLeaseOf(signal)]),
    onAttempt: () => slot.onAttempt(),
    isWanted: async () => !slot.isSpare() || (await queues.isShareExceeded()),
  };
  return await runQueue(queue, parts, control);
}

/** Aborted when the lease is lost, but not when the server stops: then attempts may go on for a while. */
function lostLeaseOf(signal: AbortSignal): AbortSignal {
  const lost = new AbortController();
  const onAbort = () => signal.reason instanceof LostLease && lost.abort(signal.reason);
  if (signal.aborted) onAbort();
  else signal.addEventListener("abort", onAbort, { once: true });
  return lost.signal;
}
