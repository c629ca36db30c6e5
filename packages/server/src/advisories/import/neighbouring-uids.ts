/** Uids for many new rows at once. Their keys lie side by side, so indexes grow in one place for all of them, and not on a page for each. */
import { randomBytes, randomFillSync } from "node:crypto";
import { newUid } from "../../lib/uid.ts";

/** Hexadecimal digits that differ within a batch. */
const DIGITS = 6;

/** In order. As hard to guess as others in all but their last digits; each once. */
export function neighbouringUids(parent: string, count: number): string[] {
  const first = newUid(parent);
  const ends = new Set<string>();
  while (ends.size < count) ends.add(randomBytes(DIGITS / 2).toString("hex"));
  return [...ends].sort().map((end) => first.slice(0, -DIGITS) + end);
}

const BYTES = 8;
const pool = Buffer.alloc(512 * BYTES);
let used = pool.length;

/** In order. Random as all are; the system is asked for many at once. */
export function eventUids(advisory: string, count: number): string[] {
  const uids = Array.from({ length: count }, () => {
    if (used === pool.length) {
      randomFillSync(pool);
      used = 0;
    }
    used += BYTES;
    return `${advisory}/${pool.toString("hex", used - BYTES, used)}`;
  });
  return uids.sort();
}
