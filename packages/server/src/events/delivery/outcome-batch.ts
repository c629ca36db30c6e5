/** The outcomes and releases that wait for a transaction, and when it should begin. */
import type { Outcome } from "./outcome.ts";
import type { Release } from "./release.ts";

export interface Entry<T> {
  readonly value: T;
  settle(isHeld: boolean): void;
}

/** The outcomes and releases of one transaction. */
export interface Batch {
  readonly outcomes: readonly Entry<Outcome>[];
  readonly releases: readonly Entry<Release>[];
}

export interface Waiting {
  addOutcome(entry: Entry<Outcome>): void;
  addRelease(entry: Entry<Release>): void;
  isEmpty(): boolean;
  /** Whether there are enough outcomes for a transaction. */
  isFull(): boolean;
  /** Whether the transaction is full, a release waits, or runs will soon wait. */
  isNeeded(): boolean;
  take(): Batch;
}

/** Maximum number of outcomes of one run that are not durable yet. If the server is killed, their events are sent again. */
export const MAX_UNRECORDED = 16;
/** With this many waiting outcomes of one run, a transaction begins soon. The run goes on meanwhile. */
const MANY_OF_RUN = (3 * MAX_UNRECORDED) / 4;
/** The same for the average of all runs. */
const MANY_ON_AVERAGE = MAX_UNRECORDED / 2;
/** Outcomes per transaction. */
const MAX_OUTCOMES = 200;

export function createWaiting(): Waiting {
  let outcomes: Entry<Outcome>[] = [];
  let releases: Entry<Release>[] = [];
  /** Waiting outcomes by queue. */
  const counts = new Map<string, number>();
  let mostOfOne = 0;

  function addOutcome(entry: Entry<Outcome>): void {
    outcomes.push(entry);
    const { subscription_uid: uid } = entry.value;
    const count = (counts.get(uid) ?? 0) + 1;
    counts.set(uid, count);
    mostOfOne = Math.max(mostOfOne, count);
  }

  const isFull = () => outcomes.length >= MAX_OUTCOMES;
  const runsHaveMany = () => mostOfOne >= MANY_OF_RUN || (mostOfOne > 0 && outcomes.length >= MANY_ON_AVERAGE * counts.size);
  return {
    addOutcome,
    addRelease: (entry) => void releases.push(entry),
    isEmpty: () => outcomes.length + releases.length === 0,
    isFull,
    isNeeded: () => isFull() || releases.length > 0 || runsHaveMany(),
    /** No queue is released before its outcomes are written. */
    take() {
      const later = outcomes.slice(MAX_OUTCOMES);
      const isLater = new Set(later.map(({ value }) => value.subscription_uid));
      const batch = {
        outcomes: outcomes.slice(0, MAX_OUTCOMES),
        releases: releases.filter(({ value }) => !isLater.has(value.uid)),
      };
      releases = releases.filter(({ value }) => isLater.has(value.uid));
      outcomes = [];
      counts.clear();
      mostOfOne = 0;
      for (const entry of later) addOutcome(entry);
      return batch;
    },
  };
}
