/** Parses the times of records: RFC 3339, or a date alone. Refuses times before 1970 and in the future. Pure. */
import { isAbsent, type Node } from "./fields.ts";
import { BadRecord } from "./record.ts";

/** Clocks differ, and a date alone can be in another time zone. */
const FUTURE_TOLERANCE_MS = 24 * 3_600_000;
const TIME = /^\d{4}-\d\d-\d\d(?:[T ]\d\d:\d\d(?::\d\d(?:\.\d+)?)?(?<zone>Z|[+-]\d\d:\d\d)?)?$/i;

/** Unix milliseconds. */
export function timeOf(node: Node, now: number): number {
  const { value } = node;
  const match = typeof value === "string" ? TIME.exec(value) : null;
  if (match === null) throw new BadRecord(node.pointer, "must be a time such as 2026-01-31T12:00:00Z");
  const text = match[0].replace(" ", "T");
  // Without a zone, Date.parse would use the zone of this machine.
  const time = Date.parse(text.length === 10 || match.groups?.zone !== undefined ? text : `${text}Z`);
  if (Number.isNaN(time)) throw new BadRecord(node.pointer, `invalid time: ${text}`);
  if (time < 0) throw new BadRecord(node.pointer, `time before 1970: ${text}`);
  if (time > now + FUTURE_TOLERANCE_MS) throw new BadRecord(node.pointer, `time in the future: ${text}`);
  return time;
}

export function optionalTime(node: Node, now: number): number | undefined {
  return isAbsent(node) ? undefined : timeOf(node, now);
}
