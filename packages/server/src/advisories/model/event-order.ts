/** Orders the events of an advisory by time, and events of the same time by uid. Pure. */
import type { AdvisoryEvent } from "@holt/api/gen/platform/vulnerabilities/v1/advisories_pb.ts";

/** Comparison function for `sort`. An event without a time comes first. */
export function byTime({ timestamp: a, id }: AdvisoryEvent, { timestamp: b, id: other }: AdvisoryEvent): number {
  const apart = Number((a?.seconds ?? 0n) - (b?.seconds ?? 0n)) || (a?.nanos ?? 0) - (b?.nanos ?? 0);
  return apart || (id < other ? -1 : id > other ? 1 : 0);
}
