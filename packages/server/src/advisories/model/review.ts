/** The review of an event: from which state to which it may go, and what counts as a decision. Pure. */
import { ReviewStatus, ReviewStatusSchema } from "@holt/api/gen/platform/vulnerabilities/v1/advisories_pb.ts";
import { failedPrecondition } from "../../lib/errors.ts";

const { PENDING, APPROVED, REQUEST_CHANGES, REJECTED } = ReviewStatus;

const legal: ReadonlyMap<ReviewStatus, readonly ReviewStatus[]> = new Map([
  [PENDING, [APPROVED, REJECTED, REQUEST_CHANGES]],
  [REQUEST_CHANGES, [PENDING, APPROVED, REJECTED]],
]);

/** Whether an event in this state can change no more. */
export function isFinal(state: ReviewStatus): boolean {
  return state === APPROVED || state === REJECTED;
}

/** Whether it takes a reviewer to bring an event into this state. */
export function isDecision(state: ReviewStatus): boolean {
  return state !== PENDING;
}

/** @throws FAILED_PRECONDITION where an event in state `from` cannot be changed, or not into `to` */
export function assertChangeable(from: ReviewStatus, to: ReviewStatus): void {
  if (from === to ? !isFinal(from) : legal.get(from)?.includes(to)) return;
  const transitions = [...legal].map(([state, next]) => `${nameOf(state)} → ${next.map(nameOf).join(" | ")}`);
  const what = isFinal(from)
    ? `an event that is ${nameOf(from)} is final and changes no more`
    : `an event cannot go from ${nameOf(from)} to ${nameOf(to)}`;
  throw failedPrecondition("EVENT_REVIEW_STATE", `${what}; the transitions are ${transitions.join(", ")}`);
}

function nameOf(state: ReviewStatus): string {
  return ReviewStatusSchema.value[state]?.name ?? `${state}`;
}
