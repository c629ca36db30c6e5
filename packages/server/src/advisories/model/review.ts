/** The state machine of an event's review. Pure. */
import { ReviewStatus, ReviewStatusSchema } from "@holt/api/gen/platform/vulnerabilities/v1/advisories_pb.ts";
import { failedPrecondition } from "../../lib/errors.ts";

const { PENDING, APPROVED, REQUEST_CHANGES, REJECTED } = ReviewStatus;

const transitions: ReadonlyMap<ReviewStatus, readonly ReviewStatus[]> = new Map([
  [PENDING, [APPROVED, REJECTED, REQUEST_CHANGES]],
  [REQUEST_CHANGES, [PENDING, APPROVED, REJECTED]],
]);

/** Whether an event in this state can no longer change. */
function isFinal(state: ReviewStatus): boolean {
  return state === APPROVED || state === REJECTED;
}

/** Whether only a reviewer may move an event into this state. */
export function isDecision(state: ReviewStatus): boolean {
  return state !== PENDING;
}

/** @throws FAILED_PRECONDITION if an event in state `from` is final, or must not change to `to` */
export function assertChangeable(from: ReviewStatus, to: ReviewStatus): void {
  if (from === to ? !isFinal(from) : transitions.get(from)?.includes(to)) return;
  const allowed = [...transitions].map(([state, next]) => `${nameOf(state)} → ${next.map(nameOf).join(" | ")}`);
  const what = isFinal(from)
    ? `an event in state ${nameOf(from)} is final and cannot be changed`
    : `an event cannot change from ${nameOf(from)} to ${nameOf(to)}`;
  throw failedPrecondition("EVENT_REVIEW_STATE", `${what}; the allowed transitions are ${allowed.join(", ")}`);
}

function nameOf(state: ReviewStatus): string {
  return ReviewStatusSchema.value[state]?.name ?? `${state}`;
}
