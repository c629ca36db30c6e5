/**
 * Limits the requests of one caller that are under way at once, including those whose file is being sent to a slow client. All anonymous
 * callers count as one caller.
 */
import { resourceExhausted } from "../../../lib/errors.ts";

export interface CallerSlots {
  /**
   * Takes a slot, which is given back when the result is disposed of.
   * @param caller the uid, or undefined for an anonymous caller
   * @throws RESOURCE_EXHAUSTED while all slots of the caller are taken
   */
  take(caller: string | undefined): Disposable;
}

export function createCallerSlots(slotsPerCaller: number): CallerSlots {
  const taken = new Map<string | undefined, number>();
  return {
    take(caller) {
      const others = taken.get(caller) ?? 0;
      if (others >= slotsPerCaller) throw resourceExhausted(`${subjectOf(caller)} are at their limit; try again shortly`, 1);
      taken.set(caller, others + 1);
      return {
        [Symbol.dispose]() {
          const left = (taken.get(caller) ?? 0) - 1;
          if (left > 0) taken.set(caller, left);
          else taken.delete(caller);
        },
      };
    },
  };
}

function subjectOf(caller: string | undefined): string {
  return caller === undefined ? "requests without a token" : "requests of this identity";
}
