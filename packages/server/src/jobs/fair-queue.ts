/**
 * A queue for slots that organizations share. It bounds how many slots one organization has and how many of its runs
 * wait, so that none of them keeps the others waiting. All in memory: the runs are requests of this server.
 */
import { Lru } from "../lib/lru.ts";
import { rootOf } from "../lib/uid.ts";
import { createSlots, type SlotPolicy, type Slots } from "./fair-share.ts";

export interface FairQueueOptions extends SlotPolicy {
  /** Waiting runs of one organization. */
  readonly maxWaitingOfOne: number;
  /** Waiting runs of all organizations. */
  readonly maxWaiting: number;
  /** Makes the error for a run that may not even wait. */
  readonly refusal: () => Error;
}

export interface FairQueue {
  /**
   * Runs the work when the organization of the uid may have a slot. The organization whose last turn is longest ago is
   * next. The duration of a turn is added to its end, so that an organization with long turns waits longer.
   * @throws the error of the options, at once, while too many runs wait
   */
  run<T>(uid: string, work: () => Promise<T>): Promise<T>;
}

/** Organizations whose last turn is remembered. */
const MAX_TURNS = 1000;

export function createFairQueue(options: FairQueueOptions): FairQueue {
  const queue = new Queue(options, createSlots(options));
  return {
    async run(uid, work) {
      const organization = rootOf(uid);
      await queue.enter(organization);
      const begun = performance.now();
      try {
        return await work();
      } finally {
        queue.leave(organization, 2 * performance.now() - begun);
      }
    },
  };
}

class Queue {
  readonly #options: FairQueueOptions;
  readonly #slots: Slots;
  /** By organization: the runs that wait, the oldest first. */
  readonly #waiting = new Map<string, (() => void)[]>();
  readonly #turns = new Lru<string, number>(MAX_TURNS);
  #waitingCount = 0;

  constructor(options: FairQueueOptions, slots: Slots) {
    this.#options = options;
    this.#slots = slots;
  }

  async enter(organization: string): Promise<void> {
    // No waiting organization may have a slot now: `leave` would have given it one.
    if (this.#slots.mayTake(organization)) this.#slots.take(organization);
    else await this.#wait(organization);
  }

  #wait(organization: string): Promise<void> {
    const waiting = this.#waiting.get(organization) ?? [];
    const { maxWaiting, maxWaitingOfOne, refusal } = this.#options;
    if (waiting.length >= maxWaitingOfOne || this.#waitingCount >= maxWaiting) throw refusal();
    this.#waiting.set(organization, waiting);
    this.#waitingCount++;
    return new Promise((resolve) => void waiting.push(resolve));
  }

  leave(organization: string, turn: number): void {
    this.#slots.giveBack(organization);
    this.#turns.set(organization, turn);
    for (let next = this.#nextOrganization(); next !== undefined; next = this.#nextOrganization()) this.#start(next);
  }

  #nextOrganization(): string | undefined {
    const turnOf = (organization: string) => this.#turns.get(organization) ?? Number.NEGATIVE_INFINITY;
    let next: string | undefined;
    for (const organization of this.#waiting.keys())
      if (this.#slots.mayTake(organization) && (next === undefined || turnOf(organization) < turnOf(next))) next = organization;
    return next;
  }

  #start(organization: string): void {
    const waiting = this.#waiting.get(organization) ?? [];
    const start = waiting.shift();
    if (waiting.length === 0) this.#waiting.delete(organization);
    this.#waitingCount--;
    this.#slots.take(organization);
    start?.();
  }
}
