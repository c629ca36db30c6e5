/** Places that organizations share so that none can take them all: each has at most as many as it leaves free. Pure. */
import { rootOf } from "../../lib/uid.ts";

export interface Shares {
  free(): number;
  /** Whether the organization of this uid may have one more. */
  hasRoom(uid: string): boolean;
  /** Also where there is no room: places may be taken beyond their number. */
  take(uid: string): void;
  giveBack(uid: string): void;
  /** The organizations that have places and may have no more. */
  full(): string[];
  /** Goes its own way from here on. */
  copy(): Shares;
}

export function createShares(places: number, before: Iterable<readonly [string, number]> = []): Shares {
  const taken = new Map(before);
  let free = [...taken.values()].reduce((rest, count) => rest - count, places);
  const add = (uid: string, count: number): void => {
    const root = rootOf(uid);
    const sum = (taken.get(root) ?? 0) + count;
    if (sum === 0) taken.delete(root);
    else taken.set(root, sum);
    free -= count;
  };
  return {
    free: () => free,
    hasRoom: (uid) => (taken.get(rootOf(uid)) ?? 0) < free,
    take: (uid) => add(uid, 1),
    giveBack: (uid) => add(uid, -1),
    full: () => [...taken].filter(([, count]) => count >= free).map(([root]) => root),
    copy: () => createShares(places, taken),
  };
}
