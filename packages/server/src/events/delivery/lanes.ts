/** How many queues are worked off at once, in two lanes: sinks that do not answer soon must not take the places of those that do, nor those of one organization all others'. */
import { Lru } from "../../lib/lru.ts";
import type { Room } from "./leases.ts";
import { createShares } from "./shares.ts";

const FAST_PLACES = 64;
const SLOW_PLACES = 512;
/** An attempt that takes longer belongs in the slow lane. */
const SLOW_MS = 1000;
const MAX_REMEMBERED = 10_000;

/** A queue's place for one turn. */
export interface Place extends Disposable {
  /** To be called at the beginning of each attempt. */
  onAttempt(): void;
}

export interface Lanes {
  room(): Room;
  /** False for a queue that is well but known to be slow while its organization has no place for such: the database gives it out with those that are quick. */
  hasPlace(uid: string, isFailing: boolean): boolean;
  enter(uid: string, isFailing: boolean): Place;
}

/** @param onMove called when a fast place became free before the end of a turn */
export function createLanes(onMove: () => void): Lanes {
  const lanes = { fast: createShares(FAST_PLACES), slow: createShares(SLOW_PLACES) };
  const slowOnes = new Lru<string, true>(MAX_REMEMBERED);
  const laneOf = (uid: string, isFailing: boolean): keyof typeof lanes => (isFailing || slowOnes.get(uid) ? "slow" : "fast");
  return {
    hasPlace: (uid, isFailing) => laneOf(uid, isFailing) === "fast" || lanes.slow.hasRoom(uid),
    room: () => ({ healthy: lanes.fast.copy(), failing: lanes.slow.copy() }),
    enter(uid, isFailing) {
      let lane = laneOf(uid, isFailing);
      lanes[lane].take(uid);
      let isSlow = false;
      const timer = setTimeout(() => {
        isSlow = true;
        if (lane === "slow") return;
        // Also where the slow lane is full: it takes in nobody new then, but these are here already.
        lanes.fast.giveBack(uid);
        lanes.slow.take(uid);
        lane = "slow";
        onMove();
      }, SLOW_MS).unref();
      return {
        onAttempt() {
          isSlow = false;
          timer.refresh();
        },
        [Symbol.dispose]() {
          clearTimeout(timer);
          lanes[lane].giveBack(uid);
          if (isSlow) slowOnes.set(uid, true);
          else slowOnes.delete(uid);
        },
      };
    },
  };
}
