/** Decides what the result of an attempt means for its delivery and for its queue: when to retry, when to give up, when to pause. Pure. */

/** How an attempt ended. */
export interface Result {
  /** HTTP status; 0 where there was no answer. */
  readonly status: number;
  /** The reason of the failure; empty where the sink took the event. */
  readonly error: string;
  /** How long the sink asked to wait, in milliseconds from the end of the attempt; 0 for no wait. */
  readonly retryAfterMs: number;
  /** The address and the answer as JSON (webhook/exchange.ts); left out where there was no answer. */
  readonly exchange?: string;
}

/** The earlier attempts at a delivery. */
export interface Tried {
  readonly attempts: number;
  readonly first_attempt_time: string | null;
}

/** How deliveries to a subscription are doing; these are columns of its queue. */
export interface Health {
  readonly failures: number;
  readonly failing_time: string | null;
  readonly hold_time: string | null;
  readonly pause_time: string | null;
  readonly pause_reason: string;
}

export interface RetryPolicy {
  /** The waits before the second attempt, the third, and so on; the last one repeats. */
  readonly backoffMs: readonly number[];
  /** After this time without success, and some attempts, a delivery is given up, and a subscription is paused. */
  readonly giveUpMs: number;
}

/** An attempt that has ended, and what was known when it began. */
export interface EndedAttempt {
  readonly result: Result;
  readonly delivery: Tried;
  readonly before: Health;
  readonly begun: Date;
  readonly ended: Date;
}

export interface Verdict {
  readonly state: "pending" | "delivered" | "failed";
  readonly next_attempt_time: string | null;
  readonly health: Health;
}

/**
 * After this many failures in a row the fault is in the sink, not in an event. The queue is held, and one event at a time
 * finds out whether the sink answers again.
 */
const FAILURES_TO_HOLD = 3;
/** Fewer attempts prove nothing, however long ago the first one was: the server may have been off. */
const MIN_ATTEMPTS = 5;
const GONE = 410;
const JITTER = 0.2;

export const HEALTHY: Health = { failures: 0, failing_time: null, hold_time: null, pause_time: null, pause_reason: "" };

/** Whether a success is the first one after the queue was held. */
export function isRecovery(before: Health): boolean {
  return before.failures >= FAILURES_TO_HOLD;
}

export function judge(attempt: EndedAttempt, policy: RetryPolicy): Verdict {
  const { result, delivery, before, begun, ended } = attempt;
  if (result.error === "") return { state: "delivered", next_attempt_time: null, health: HEALTHY };
  const failures = before.failures + 1;
  const failingTime = before.failing_time ?? begun.toISOString();
  const hasFailedLong = isTimeToGiveUp({ attempts: failures, since: failingTime, now: ended }, policy);
  const pauseReason = reasonToPause(result, failingTime, hasFailedLong);
  const health: Health = {
    failures,
    failing_time: failingTime,
    hold_time: holdTime(result, failures, ended, policy),
    pause_time: pauseReason === "" ? null : ended.toISOString(),
    pause_reason: pauseReason,
  };
  const since = delivery.first_attempt_time ?? begun.toISOString();
  const isOld = isTimeToGiveUp({ attempts: delivery.attempts + 1, since, now: ended }, policy);
  // A subscription is paused with all its events if its sink takes none. An event is given up if its sink takes others.
  if (isOld && pauseReason === "" && failures < FAILURES_TO_HOLD) return { state: "failed", next_attempt_time: null, health };
  const wait = Math.max(backoff(policy.backoffMs, delivery.attempts), result.retryAfterMs);
  return { state: "pending", next_attempt_time: after(ended, wait), health };
}

function isTimeToGiveUp({ attempts, since, now }: { attempts: number; since: string; now: Date }, { giveUpMs }: RetryPolicy): boolean {
  return attempts >= MIN_ATTEMPTS && now.getTime() - Date.parse(since) >= giveUpMs;
}

function reasonToPause({ status }: Result, failingTime: string, hasFailedLong: boolean): string {
  if (status === GONE) return "the sink answered 410 Gone";
  return hasFailedLong ? `no attempt succeeded since ${failingTime}` : "";
}

function holdTime({ retryAfterMs }: Result, failures: number, now: Date, { backoffMs }: RetryPolicy): string | null {
  const wait = failures < FAILURES_TO_HOLD ? 0 : backoff(backoffMs, failures - FAILURES_TO_HOLD);
  return wait === 0 && retryAfterMs === 0 ? null : after(now, Math.max(wait, retryAfterMs));
}

/** The wait after `count` earlier ones. Randomized, so that deliveries that failed together are not retried together. */
function backoff(list: readonly number[], count: number): number {
  const wait = list[Math.min(count, list.length - 1)] ?? 0;
  return wait * (1 - JITTER + 2 * JITTER * Math.random());
}

function after(now: Date, ms: number): string {
  return new Date(now.getTime() + Math.ceil(ms)).toISOString();
}
