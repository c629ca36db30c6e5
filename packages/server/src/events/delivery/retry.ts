/** What an attempt's result means for its delivery and for the queue it stands in: when to try again, when to give up, when to pause. Pure. */

/** How an attempt ended. */
export interface Result {
  /** HTTP status; 0 where there was no answer. */
  readonly status: number;
  /** What was wrong; empty where the sink took it. */
  readonly error: string;
  /** What the sink asked for, in milliseconds from the end of the attempt; 0 for nothing. */
  readonly retryAfterMs: number;
}

/** What is known of a delivery when an attempt begins. */
export interface Tried {
  readonly attempts: number;
  readonly first_attempt_time: string | null;
}

/** How deliveries to a subscription are doing; the columns of its queue. */
export interface Health {
  readonly failures: number;
  readonly failing_time: string | null;
  readonly hold_time: string | null;
  readonly pause_time: string | null;
  readonly pause_reason: string;
}

export interface RetryPolicy {
  /** Before the second attempt, the third, …; the last one repeats. */
  readonly backoffMs: readonly number[];
  /** After so long without success, and some attempts, a delivery is given up, and a subscription paused. */
  readonly giveUpMs: number;
}

export interface Verdict {
  readonly state: "pending" | "delivered" | "failed";
  readonly next_attempt_time: string | null;
  readonly health: Health;
}

/** So many failures in a row are the sink's, not an event's: then everything waits, and one event at a time finds out whether it is well again. */
const FAILURES_TO_HOLD = 3;
/** Fewer say nothing of a sink, however long ago the first was: the server may have been off. */
const MIN_ATTEMPTS = 5;
const GONE = 410;
const JITTER = 0.2;

export const HEALTHY: Health = { failures: 0, failing_time: null, hold_time: null, pause_time: null, pause_reason: "" };

/** Whether a success is the first after a time in which the queue was held. */
export function isRecovery(before: Health): boolean {
  return before.failures >= FAILURES_TO_HOLD;
}

/** @param begun when the attempt began; `now` is when it ended */
export function judge(result: Result, tried: Tried, before: Health, begun: Date, now: Date, policy: RetryPolicy): Verdict {
  if (result.error === "") return { state: "delivered", next_attempt_time: null, health: HEALTHY };
  const failures = before.failures + 1;
  const failingTime = before.failing_time ?? begun.toISOString();
  const pauseReason = reasonToPause(result, failures, failingTime, now, policy);
  const health: Health = {
    failures,
    failing_time: failingTime,
    hold_time: holdTime(result, failures, now, policy),
    pause_time: pauseReason === "" ? null : now.toISOString(),
    pause_reason: pauseReason,
  };
  // A sink that takes nothing is paused with all its events; given up is what others overtook.
  const isOld = isTime(tried.attempts + 1, tried.first_attempt_time ?? begun.toISOString(), now, policy);
  if (isOld && pauseReason === "" && failures < FAILURES_TO_HOLD) return { state: "failed", next_attempt_time: null, health };
  const wait = Math.max(backoff(policy.backoffMs, tried.attempts), result.retryAfterMs);
  return { state: "pending", next_attempt_time: after(now, wait), health };
}

function isTime(attempts: number, since: string, now: Date, { giveUpMs }: RetryPolicy): boolean {
  return attempts >= MIN_ATTEMPTS && now.getTime() - Date.parse(since) >= giveUpMs;
}

function reasonToPause({ status }: Result, failures: number, failingTime: string, now: Date, policy: RetryPolicy): string {
  if (status === GONE) return "the sink answered 410 Gone";
  if (isTime(failures, failingTime, now, policy)) return `no attempt succeeded since ${failingTime}`;
  return "";
}

function holdTime({ retryAfterMs }: Result, failures: number, now: Date, { backoffMs }: RetryPolicy): string | null {
  const wait = failures < FAILURES_TO_HOLD ? 0 : backoff(backoffMs, failures - FAILURES_TO_HOLD);
  return wait === 0 && retryAfterMs === 0 ? null : after(now, Math.max(wait, retryAfterMs));
}

/** After `count` waits before this one. Spread, so that what failed together is not tried together. */
function backoff(list: readonly number[], count: number): number {
  const wait = list[Math.min(count, list.length - 1)] ?? 0;
  return wait * (1 - JITTER + 2 * JITTER * Math.random());
}

function after(now: Date, ms: number): string {
  return new Date(now.getTime() + Math.ceil(ms)).toISOString();
}

const MAX_RETRY_AFTER_MS = 24 * 3_600_000;

/** RFC 9110 §10.2.3: seconds or a date; anything else is none. */
export function parseRetryAfter(value: string | string[] | undefined, now: Date): number {
  if (typeof value !== "string") return 0;
  const ms = /^\d{1,9}$/.test(value) ? Number(value) * 1000 : Date.parse(value) - now.getTime();
  return ms > 0 ? Math.min(ms, MAX_RETRY_AFTER_MS) : 0;
}
