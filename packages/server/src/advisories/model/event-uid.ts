/**
 * Makes uids of events. Among events of the same time, a later event gets a greater uid, so that they keep their order.
 */
import { randomBytes } from "node:crypto";
import type { AdvisoryEvent } from "@holt/api/gen/platform/vulnerabilities/v1/advisories_pb.ts";
import { dateFromTimestamp } from "../../lib/clock.ts";

const DIGITS = 16;
/** New uids start in the lower half of the range, so that later uids have room above them. */
const HALF = 1n << 63n;

export function newEventUid(advisoryUid: string, event: AdvisoryEvent, others: readonly AdvisoryEvent[]): string {
  const random = randomBytes(8).readBigUInt64BE() % HALF;
  const before = others.filter((other) => timeOf(other) === timeOf(event)).map(({ id }) => BigInt(`0x${id.slice(-DIGITS)}`));
  const last = before.reduce((greatest, number) => (number > greatest ? number : greatest), -1n);
  const number = random > last ? random : last + 1n + BigInt(randomBytes(4).readUInt32BE());
  return `${advisoryUid}/${number.toString(16).padStart(DIGITS, "0")}`;
}

function timeOf({ timestamp }: AdvisoryEvent): number | undefined {
  return timestamp === undefined ? undefined : dateFromTimestamp(timestamp).getTime();
}
