/** Makes uids for many new rows at once. The uids are neighbors in the indexes, so a batch writes few index pages. */
import { randomBytes, randomFillSync } from "node:crypto";
import { newUid } from "../../lib/uid.ts";

/** Hexadecimal digits that differ within a batch. */
const VARYING_DIGITS = 6;

/** Sorted and unique. All but the last digits are as hard to guess as in other uids. */
export function newNeighboringUids(parent: string, count: number): string[] {
  const first = newUid(parent);
  const ends = new Set<string>();
  while (ends.size < count) ends.add(randomBytes(VARYING_DIGITS / 2).toString("hex"));
  return [...ends].sort().map((end) => first.slice(0, -VARYING_DIGITS) + end);
}

const EVENT_ID_BYTES = 8;
/** Random bytes for many events, because each request to the system is slow. */
const pool = Buffer.alloc(512 * EVENT_ID_BYTES);
let used = pool.length;

/** Sorted, in the format of event-uid.ts: the first bit is reserved for later events. */
export function newEventUids(advisory: string, count: number): string[] {
  const uids = Array.from({ length: count }, () => {
    if (used === pool.length) {
      randomFillSync(pool);
      used = 0;
    }
    pool[used]! &= 0x7f;
    used += EVENT_ID_BYTES;
    return `${advisory}/${pool.toString("hex", used - EVENT_ID_BYTES, used)}`;
  });
  return uids.sort();
}
