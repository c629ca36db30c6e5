/** Lets others run during long computations on the main thread. */
import { setImmediate } from "node:timers/promises";

/** Call it between parts of a computation. Others run if the parts since the last break took long enough. */
export type Break = () => Promise<void>;

/** A computation takes this long between other requests. */
const TURN_MS = 10;
const SORTED_AT_ONCE = 1000;

export function createBreaks(): Break {
  let begun = performance.now();
  return async () => {
    if (performance.now() - begun < TURN_MS) return;
    await setImmediate();
    begun = performance.now();
  };
}

/** Maps a long list. */
export async function mapWithBreaks<T, R>(items: Iterable<T>, map: (item: T) => R, pause: Break): Promise<R[]> {
  const mapped: R[] = [];
  for (const item of items) {
    mapped.push(map(item));
    await pause();
  }
  return mapped;
}

/** Sorts a long list, and keeps the order of equal items. */
export async function sortWithBreaks<T>(items: readonly T[], compare: (a: T, b: T) => number, pause: Break): Promise<T[]> {
  if (items.length <= SORTED_AT_ONCE) return items.toSorted(compare);
  const middle = items.length >> 1;
  const left = await sortWithBreaks(items.slice(0, middle), compare, pause);
  const right = await sortWithBreaks(items.slice(middle), compare, pause);
  await pause();
  return merge(left, right, compare);
}

function merge<T>(left: readonly T[], right: readonly T[], compare: (a: T, b: T) => number): T[] {
  const merged: T[] = [];
  let at = 0;
  for (const item of left) {
    for (let next = right[at]; at < right.length && compare(next as T, item) < 0; next = right[at]) {
      merged.push(next as T);
      at++;
    }
    merged.push(item);
  }
  return merged.concat(right.slice(at));
}
