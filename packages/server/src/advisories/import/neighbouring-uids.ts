/** Uids for many new rows at once. Their keys lie side by side, so indexes grow in one place for all of them, and not on a page for each. */
import { randomBytes } from "node:crypto";
import { newUid } from "../../lib/uid.ts";

/** Hexadecimal digits that differ within a batch. */
const DIGITS = 6;

/** As hard to guess as others in all but their last digits; each once. */
export function neighbouringUids(parent: string, count: number): string[] {
  const first = newUid(parent);
  const ends = new Set<string>();
  while (ends.size < count) ends.add(randomBytes(DIGITS / 2).toString("hex"));
  return [...ends]
    .sort()
    .reverse()
    .map((end) => first.slice(0, -DIGITS) + end);
}
