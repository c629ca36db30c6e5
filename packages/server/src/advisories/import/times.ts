/** Times that records state: RFC 3339, or a date alone; neither before computers nor in the future. Pure. */
import { isAbsent, type Node } from "./fields.ts";
import { BadRecord } from "./record.ts";

/** Clocks differ, and a date alone may be that of another zone. */
const FUTURE_MS = 24 * 3_600_000;
const TIME = /^\d{4}-\d\d-\d\d(?:[T ]\d\d:\d\d(?::\d\d(?:\.\d+)?)?(?<zone>Z|[+-]\d\d:\d\d)?)?$/i;

/** Unix milliseconds. */
export function timeOf(node: Node, now: number): number {
  const { value } = node;
  const match = typeof value === "string" ? TIME.exec(value) : null;
  if (match === null) throw new BadRecord(node.pointer, "it must be a time such as 2026-01-31T12:00:00Z");
  const text = match[0].replace(" ", "T");
  // Without a zone it would be that of this machine.
  const time = Date.parse(text.length === 10 || match.groups?.zone !== undefined ? text : `${text}Z`);
  if (Number.isNaN(time)) throw new BadRecord(node.pointer, `there is no such time: ${text}`);
  if (time < 0) throw new BadRecord(node.pointer, `it is a time before 1970: ${text}`);
  if (time > now + FUTURE_MS) throw new BadRecord(node.pointer, `it is a time in the future: ${text}`);
  return time;
}

export function optionalTime(node: Node, now: number): number | undefined {
  return isAbsent(node) ? undefined : timeOf(node, now);
}
