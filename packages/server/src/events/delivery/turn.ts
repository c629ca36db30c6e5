/** One queue's turn: its deliveries one after the other, until none is due, one fails, or others shall have theirs. */
import type { Store } from "../../db/store.ts";
import type { Clock } from "../../lib/clock.ts";
import type { Signed, Webhook } from "../webhook/webhook.ts";
import { type DueDelivery, type Place, readDue, readEvent } from "./due-deliveries.ts";
import type { Claimed } from "./leases.ts";
import type { Ledger, Outcome } from "./ledger.ts";
import { type Health, isRecovery, judge, type Result, type RetryPolicy, type Verdict } from "./retry.ts";

export interface TurnOptions {
  readonly store: Store;
  readonly clock: Clock;
  readonly webhook: Webhook;
  readonly ledger: Ledger;
  readonly policy: RetryPolicy;
}

export interface TurnWatch {
  /** Ends the turn before the next attempt. */
  isOver(): boolean;
  /** Ends the attempt that is under way. */
  readonly signal: AbortSignal;
  onAttempt(): void;
}

/** How far a turn has come. */
export interface Standing {
  readonly health: Health;
  /** Where the sink took events again after it was in trouble: since when it had been. */
  readonly recoveredSince: string | null;
  readonly attempts: number;
}

const TURN_MS = 1000;
const TURN_ATTEMPTS = 200;
/** Attempts that are not durable yet: as many may be made again when the server is killed. */
const MAX_UNRECORDED = 16;

/** Rejects for faults of our own: the database does not answer, a token cannot be signed. What was attempted is recorded all the same. */
export async function takeTurn({ uid, health }: Claimed, options: TurnOptions, watch: TurnWatch): Promise<Standing> {
  const deadline = performance.now() + TURN_MS;
  const recording = createRecording(options.ledger);
  let standing: Standing = { health, recoveredSince: null, attempts: 0 };
  for await (const { delivery, signed } of upcoming(uid, options)) {
    await recording.room();
    if (watch.isOver() || recording.isLost() || performance.now() > deadline) break;
    watch.onAttempt();
    const attempt = await attemptOnce(uid, delivery, signed, standing.health, options, watch.signal);
    if (attempt === undefined) break;
    recording.add(attempt.outcome);
    standing = advanced(standing, attempt.verdict);
    if (attempt.verdict.state !== "delivered" || standing.attempts === TURN_ATTEMPTS) break;
  }
  if (watch.isOver()) await recording.all();
  return standing;
}

interface Upcoming {
  readonly delivery: DueDelivery;
  readonly signed: Signed;
}

/** The token of the next one is made while this one is under way. */
async function* upcoming(uid: string, { store, clock, webhook }: TurnOptions): AsyncGenerator<Upcoming> {
  for (let after: Place | undefined; ; ) {
    const piece = await readDue(store.reader, uid, after, clock.now().toISOString());
    let next = piece[0] && sign(piece[0], store, webhook);
    for (const [index, delivery] of piece.entries()) {
      const signed = (await next) as Signed;
      const following = piece[index + 1];
      next = following && sign(following, store, webhook);
      yield { delivery, signed };
    }
    after = piece.at(-1);
    if (after === undefined) return;
  }
}

function sign(delivery: DueDelivery, { reader }: Store, webhook: Webhook): Promise<Signed> {
  const signed = readEvent(reader, delivery).then((event) => webhook.sign(event, delivery));
  // The turn may be over before it is looked at.
  signed.catch(() => {});
  return signed;
}

async function attemptOnce(
  uid: string,
  delivery: DueDelivery,
  signed: Signed,
  before: Health,
  { clock, webhook, policy }: TurnOptions,
  signal: AbortSignal,
): Promise<{ outcome: Outcome; verdict: Verdict } | undefined> {
  const [begun, started] = [clock.now(), performance.now()];
  const result = await webhook.send(signed, signal);
  if (result === undefined) return undefined;
  const latency = Math.round(performance.now() - started);
  const verdict = judge(result, delivery, before, begun, clock.now(), policy);
  return { verdict, outcome: outcomeOf(uid, delivery, begun, latency, result, verdict) };
}

function outcomeOf(uid: string, delivery: DueDelivery, begun: Date, latency: number, result: Result, verdict: Verdict): Outcome {
  return {
    subscription_uid: uid,
    position: delivery.position,
    state: verdict.state,
    next_attempt_time: verdict.next_attempt_time,
    attempts: delivery.attempts + 1,
    first_attempt_time: delivery.first_attempt_time ?? begun.toISOString(),
    last_attempt_time: begun.toISOString(),
    status_code: result.status,
    error: result.error,
    latency_ms: latency,
  };
}

function advanced({ health: before, recoveredSince, attempts }: Standing, { health, state }: Verdict): Standing {
  const isNews = state === "delivered" && isRecovery(before);
  return { health, recoveredSince: isNews ? before.failing_time : recoveredSince, attempts: attempts + 1 };
}

/** The outcomes of one turn on their way into the database. */
function createRecording(ledger: Ledger) {
  const open = new Set<Promise<void>>();
  let isLost = false;
  return {
    add(outcome: Outcome): void {
      const done: Promise<void> = ledger.record(outcome).then((isHeld) => {
        isLost ||= !isHeld;
        open.delete(done);
      });
      open.add(done);
    },
    async room(): Promise<void> {
      while (open.size >= MAX_UNRECORDED) await Promise.race(open);
    },
    async all(): Promise<void> {
      await Promise.all(open);
    },
    /** Whether the queue is another server's by now, or gone. */
    isLost: () => isLost,
  };
}
