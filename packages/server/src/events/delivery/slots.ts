/**
 * Limits how many queues are sent at the same time. There are two pools of slots: sinks that take long to answer must not use
 * up the slots of those that answer soon. In each pool an organization leaves as many slots free as it has.
 */
import { createSlots } from "../../jobs/fair-share.ts";
import { Lru } from "../../lib/lru.ts";
import type { Capacity } from "./queues.ts";

const FAST_SLOTS = 64;
const SLOW_SLOTS = 512;
const SHARE_OF_ORGANIZATION = 1 / 2;
/** A queue whose attempt takes longer moves to the slow pool. */
const SLOW_MS = 1000;
const MAX_REMEMBERED = 10_000;

/** The slot of a queue for one run. */
export interface OccupiedSlot extends Disposable {
  /** Call it at the beginning of each attempt. */
  onAttempt(): void;
  /** Whether the organization may have another slot of this pool, so that none of its queues waits for this one. */
  isSpare(): boolean;
}

export interface DeliverySlots {
  /** A copy of both pools as they are now. */
  capacity(): Capacity;
  /**
   * False for a queue of the slow pool whose organization has all its slots there. Queries claim healthy queues without
   * knowing which of them are slow.
   */
  hasSlot(uid: string, isFailing: boolean): boolean;
  occupy(uid: string, isFailing: boolean): OccupiedSlot;
}

/** @param onMove called when a fast slot became free before the end of a run */
export function createDeliverySlots(onMove: () => void): DeliverySlots {
  const pools = {
    fast: createSlots({ slots: FAST_SLOTS, shareOfOne: SHARE_OF_ORGANIZATION }),
    slow: createSlots({ slots: SLOW_SLOTS, shareOfOne: SHARE_OF_ORGANIZATION }),
  };
  const slowQueues = new Lru<string, true>(MAX_REMEMBERED);
  const poolOf = (uid: string, isFailing: boolean): keyof typeof pools => (isFailing || slowQueues.get(uid) ? "slow" : "fast");
  return {
    hasSlot: (uid, isFailing) => poolOf(uid, isFailing) === "fast" || pools.slow.mayTake(uid),
    capacity: () => ({ healthy: pools.fast.copy(), failing: pools.slow.copy() }),
    occupy(uid, isFailing) {
      let pool = poolOf(uid, isFailing);
      pools[pool].take(uid);
      let isSlow = false;
      const timer = setTimeout(() => {
        isSlow = true;
        if (pool === "slow") return;
        // Also where the slow pool is full: then it admits no new queue, but this one is running already.
        pools.fast.giveBack(uid);
        pools.slow.take(uid);
        pool = "slow";
        onMove();
      }, SLOW_MS).unref();
      return {
        onAttempt() {
          isSlow = false;
          timer.refresh();
        },
        isSpare: () => pools[pool].mayTake(uid),
        [Symbol.dispose]() {
          clearTimeout(timer);
          pools[pool].giveBack(uid);
          if (isSlow) slowQueues.set(uid, true);
          else slowQueues.delete(uid);
        },
      };
    },
  };
}
