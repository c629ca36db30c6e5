/** One run of a queue: sends its deliveries one after the other, until none is due, one fails, or the turn is over and others wait. */
import type { Store } from "../../db/store.ts";
import type { Clock } from "../../lib/clock.ts";
import type { Counter } from "../../lib/meter.ts";
import type { Signed, Webhook } from "../webhook/webhook.ts";
import { type DueDelivery, readDue, readEvent, type SendPosition } from "./due-deliveries.ts";
import type { Outcome } from "./outcome.ts";
import { MAX_UNRECORDED } from "./outcome-batch.ts";
import type { OutcomeLog } from "./outcome-log.ts";
import type { ClaimedQueue } from "./queues.ts";
import { type Health, isRecovery, judge, type Result, type RetryPolicy, type Verdict } from "./retry.ts";

export interface QueueRunOptions {
  readonly store: Store;
  readonly clock: Clock;
  readonly webhook: Webhook;
  readonly outcomes: OutcomeLog;
  readonly policy: RetryPolicy;
  /** Counts attempts by their outcome. */
  readonly attempts?: Counter | undefined;
}

export interface RunControl {
  /** True ends the run before the next attempt. */
  isOver(): boolean;
  /** Ends the attempt that is under way. */
  readonly signal: AbortSignal;
  onAttempt(): void;
  /** Whether another queue may wait for the slot, or another server for a queue. Asked at the end of each turn. */
  isWanted(): Promise<boolean>;
}

export interface QueueRunResult {
  readonly health: Health;
  /** If the sink took events again after it had failed: since when it had failed. */
  readonly recoveredSince: string | null;
  readonly attempts: number;
  /** A fault of this server that ended the run: the database does not answer, a token cannot be signed. */
  readonly fault?: { readonly error: unknown };
}

const MAX_TURN_MS = 1000;
const MAX_ATTEMPTS_PER_TURN = 200;
/** A run reads forwards, so a delivery that became due behind the last one waits for the next run. */
const MAX_TURNS = 5;

/** Never rejects: what the attempts before a fault told of the sink must be stored. */
export async function runQueue({ uid, health }: ClaimedQueue, options: QueueRunOptions, control: RunControl): Promise<QueueRunResult> {
  const turn = createTurn();
  const recording = createRecording(options.outcomes);
  let result: QueueRunResult = { health, recoveredSince: null, attempts: 0 };
  try {
    for await (const due of upcoming(uid, options)) {
      await recording.waitForRoom();
      // The end of a run stores its health, so a queue that had failed has one turn.
      if (turn.isOver() && (health.failures > 0 || turn.isLast() || (await control.isWanted()))) break;
      if (control.isOver() || recording.isLost()) break;
      control.onAttempt();
      turn.onAttempt();
      const attempt = await attemptOnce(due, result.health, options, control.signal);
      if (attempt === undefined) break;
      const { verdict } = attempt;
      options.attempts?.add(1, verdict.state);
      recording.add(outcomeOf(uid, due.delivery, attempt));
      result = advance(result, verdict);
      if (verdict.state !== "delivered") break;
    }
    if (control.isOver()) await recording.waitForAll();
  } catch (error) {
    result = { ...result, fault: { error } };
  }
  return result;
}

/** The turn of a run, and then its next ones. */
function createTurn() {
  let number = 1;
  let attempts = 0;
  let deadline = performance.now() + MAX_TURN_MS;
  const isOver = () => attempts >= MAX_ATTEMPTS_PER_TURN || performance.now() > deadline;
  return {
    isOver,
    isLast: () => number === MAX_TURNS,
    /** Call it at the beginning of each attempt: if the turn is over, it belongs to the next one. */
    onAttempt(): void {
      if (isOver()) {
        number++;
        attempts = 0;
        deadline = performance.now() + MAX_TURN_MS;
      }
      attempts++;
    },
  };
}

interface SignedDelivery {
  readonly delivery: DueDelivery;
  readonly signed: Signed;
}

/** Signs the next delivery while one is under way. */
async function* upcoming(uid: string, { store, clock, webhook }: QueueRunOptions): AsyncGenerator<SignedDelivery> {
  for (let after: SendPosition | undefined; ; ) {
    const batch = await readDue(store.reader, uid, after, clock.now().toISOString());
    let next = batch[0] && sign(batch[0], store, webhook);
    for (const [index, delivery] of batch.entries()) {
      const signed = (await next) as Signed;
      const following = batch[index + 1];
      next = following && sign(following, store, webhook);
      yield { delivery, signed };
    }
    after = batch.at(-1);
    if (after === undefined) return;
  }
}

function sign(delivery: DueDelivery, { reader }: Store, webhook: Webhook): Promise<Signed> {
  const signed = readEvent(reader, delivery).then((event) => webhook.sign(event, delivery));
  // The run may be over before anybody awaits it.
  signed.catch(() => {});
  return signed;
}

interface Attempt {
  readonly begun: Date;
  readonly latencyMs: number;
  readonly result: Result;
  readonly verdict: Verdict;
}

/** Undefined if the signal ended the attempt. */
async function attemptOnce(
  { delivery, signed }: SignedDelivery,
  before: Health,
  { clock, webhook, policy }: QueueRunOptions,
  signal: AbortSignal,
): Promise<Attempt | undefined> {
  const begun = clock.now();
  const started = performance.now();
  const result = await webhook.send(signed, signal);
  if (result === undefined) return undefined;
  const latencyMs = Math.round(performance.now() - started);
  const verdict = judge({ result, delivery, before, begun, ended: clock.now() }, policy);
  return { begun, latencyMs, result, verdict };
}

function outcomeOf(uid: string, delivery: DueDelivery, { begun, latencyMs, result, verdict }: Attempt): Outcome {
  return {
    subscription_uid: uid,
    position: delivery.position,
    due_time: delivery.next_attempt_time,
    state: verdict.state,
    next_attempt_time: verdict.next_attempt_time,
    attempts: delivery.attempts + 1,
    first_attempt_time: delivery.first_attempt_time ?? begun.toISOString(),
    last_attempt_time: begun.toISOString(),
    status_code: result.status,
    error: result.error,
    latency_ms: latencyMs,
    exchange: result.exchange ?? "",
  };
}

function advance({ health: before, recoveredSince, attempts }: QueueRunResult, { health, state }: Verdict): QueueRunResult {
  const hasRecovered = state === "delivered" && isRecovery(before);
  return { health, recoveredSince: hasRecovered ? before.failing_time : recoveredSince, attempts: attempts + 1 };
}

/** The outcomes of one run that are not durable yet. */
function createRecording(outcomes: OutcomeLog) {
  const open = new Set<Promise<void>>();
  let isLost = false;
  return {
    add(outcome: Outcome): void {
      const done: Promise<void> = outcomes.record(outcome).then((isHeld) => {
        isLost ||= !isHeld;
        open.delete(done);
      });
      open.add(done);
    },
    async waitForRoom(): Promise<void> {
      while (open.size >= MAX_UNRECORDED) await Promise.race(open);
    },
    async waitForAll(): Promise<void> {
      await Promise.all(open);
    },
    /** Whether another server has the queue by now, or it is deleted. */
    isLost: () => isLost,
  };
}
