/** Concurrency limits: they reject, and never queue. */
import { resourceExhausted } from "../lib/errors.ts";
import { createSlots, type SlotPolicy } from "./fair-share.ts";

/** A slot of a concurrency limit. */
export interface Slot {
  /** Gives the slot back before the work ends. Does nothing the second time. */
  release(): void;
  /** Takes a released slot again, even beyond the limit: work that was admitted goes on. */
  retake(): void;
}

export interface ConcurrencyLimit {
  /**
   * Takes a slot, which the caller releases when the work ends.
   * @throws the error of the limit, at once, while all slots are taken
   */
  take(): Slot;
  /**
   * Runs the work in a slot, and gives the slot back when the work ends.
   * @throws the error of the limit, at once and without starting the work, while all slots are taken
   */
  run<T>(work: (slot: Slot) => Promise<T>): Promise<T>;
}

/** A limit that tells how many slots are taken. */
export interface CountedLimit extends ConcurrencyLimit {
  taken(): number;
}

/** @param refusal makes the error for work that finds no free slot */
export function createConcurrencyLimit(slots: number, refusal: () => Error): CountedLimit {
  let taken = 0;
  class TakenSlot implements Slot {
    #isHeld = false;

    constructor() {
      this.retake();
    }

    release(): void {
      if (this.#isHeld) taken--;
      this.#isHeld = false;
    }

    retake(): void {
      if (!this.#isHeld) taken++;
      this.#isHeld = true;
    }
  }
  const take = (): Slot => {
    if (taken >= slots) throw refusal();
    return new TakenSlot();
  };
  return {
    taken: () => taken,
    take,
    async run(work) {
      const slot = take();
      try {
        return await work(slot);
      } finally {
        slot.release();
      }
    },
  };
}

/**
 * The limit of the process (HOLT_MAX_CONCURRENT_CALLS). Calls of the contract and requests of all other protocols share one instance.
 * @param onRefusal called for each refusal
 */
export function createCallLimit(maxConcurrentCalls: number, onRefusal: () => void = () => {}): CountedLimit {
  return createConcurrencyLimit(maxConcurrentCalls, () => {
    onRefusal();
    return resourceExhausted("the server is at its limit of concurrent calls; try again shortly", 1);
  });
}

/** A concurrency limit that organizations share. */
export interface FairLimit {
  /**
   * Takes a slot for the organization of the caller, which is given back when the result is disposed of.
   * @param caller uid, or the network of an anonymous caller
   * @throws the error of the limit while the organization may have no more
   */
  take(caller: string): Disposable;
}

/** However much one organization asks for, it leaves as many slots free as it has. */
const SHARE: Pick<SlotPolicy, "shareOfOne"> = { shareOfOne: 1 / 2 };

/** @param refusal makes the error for work that finds no free slot */
export function createFairLimit(slots: number, refusal: () => Error): FairLimit {
  const shared = createSlots({ slots, ...SHARE });
  return {
    take(caller) {
      if (!shared.mayTake(caller)) throw refusal();
      shared.take(caller);
      let isHeld = true;
      return {
        [Symbol.dispose]() {
          if (isHeld) shared.giveBack(caller);
          isHeld = false;
        },
      };
    },
  };
}
