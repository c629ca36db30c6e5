/** Limits how many slots each key holds at the same time, such as the transfers of each caller. Rejects, never queues. */

import { Tally } from "../lib/tally.ts";

export interface KeyedLimit<Key> {
  /**
   * Takes a slot, which is given back when the result is disposed of.
   * @throws the error of the limit while all slots of the key are taken
   */
  take(key: Key): Disposable;
}

/**
 * @param slotsPerKey 0 for no limit
 * @param refusal makes the error for a key without a free slot
 */
export function createKeyedLimit<Key>(slotsPerKey: number, refusal: (key: Key) => Error): KeyedLimit<Key> {
  const taken = new Tally<Key>();
  return {
    take(key) {
      const others = taken.get(key);
      if (slotsPerKey > 0 && others >= slotsPerKey) throw refusal(key);
      taken.add(key, 1);
      return releaseOnce(() => taken.add(key, -1));
    },
  };
}

function releaseOnce(release: () => void): Disposable {
  let isHeld = true;
  return {
    [Symbol.dispose]() {
      if (isHeld) release();
      isHeld = false;
    },
  };
}
