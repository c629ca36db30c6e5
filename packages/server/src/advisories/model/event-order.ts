/** The order of an advisory's events: by time, and those of one time by their uids. Pure. */
import type { AdvisoryEvent } from "@holt/api/gen/platform/vulnerabilities/v1/advisories_pb.ts";

/** For `sort`. An event without its time comes first. */
export function byTime({ timestamp: a, id }: AdvisoryEvent, { timestamp: b, id: other }: AdvisoryEvent): number {
  const apart = Number((a?.seconds ?? 0n) - (b?.seconds ?? 0n)) || (a?.nanos ?? 0) - (b?.nanos ?? 0);
  return apart || (id < other ? -1 : id > other ? 1 : 0);
}
