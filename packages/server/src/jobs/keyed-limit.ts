/** Limits how many slots each key holds at once, such as the transfers of each caller. Rejects, never queues. */

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
  const taken = new Map<Key, number>();
  return {
    take(key) {
      const others = taken.get(key) ?? 0;
      if (slotsPerKey > 0 && others >= slotsPerKey) throw refusal(key);
      taken.set(key, others + 1);
      return releaseOnce(() => {
        const left = (taken.get(key) ?? 0) - 1;
        if (left > 0) taken.set(key, left);
        else taken.delete(key);
      });
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
