/** Finds queues that are due, gives each a turn, and keeps the leases of those that have one. What a turn is says turn.ts. */
import { setTimeout as sleep } from "node:timers/promises";
import { Loop } from "../../jobs/loop.ts";
import type { Log } from "../../lib/log.ts";
import { createLanes } from "./lanes.ts";
import { type Claimed, createLeases } from "./leases.ts";
import { createLedger, type Ledger } from "./ledger.ts";
import { type Standing, type TurnOptions, takeTurn } from "./turn.ts";

export interface DispatcherOptions extends Omit<TurnOptions, "ledger"> {
  readonly log: Log;
  /** How often to look for what other servers left to do; Infinity where there are none, and all leases are this server's. */
  readonly pollMs: number;
}

const SPACING_MS = 10;
/** Of each kind at once: on SQLite each begins with a read that nobody can interrupt. */
const MAX_CLAIMS = 32;
const RENEW_MS = 3000;
/** For attempts that are under way when the server stops. */
const STOP_MS = 2000;
/** After a turn that could do nothing, for a fault of our own. */
const FAULT_MS = 1000;
/** How long a slow sink waits at the least where there is no place for it: so many may wait that to look at them is work. */
const FULL_MS = 2000;

interface Turn {
  isOver: boolean;
  readonly ended: Promise<void>;
}

export class Dispatcher implements AsyncDisposable {
  readonly #options: DispatcherOptions;
  readonly #leases;
  readonly #ledger: Ledger;
  readonly #lanes = createLanes(() => this.wake());
  readonly #turns = new Map<string, Turn>();
  readonly #stop = new AbortController();
  readonly #loop: Loop;
  readonly #renewal: Loop;
  #isBegun = false;
  #isClosed = false;

  constructor(options: DispatcherOptions) {
    const { store, clock, log } = options;
    this.#options = options;
    this.#leases = createLeases(store, clock);
    this.#ledger = createLedger({ store, clock, log, holder: this.#leases.holder });
    this.#loop = new Loop({ name: "looking for deliveries", log, spacingMs: SPACING_MS, step: () => this.#dispatch() });
    this.#renewal = new Loop({ name: "renewing leases", log, spacingMs: RENEW_MS, step: () => this.#renew() });
  }

  /** There may be something to send. */
  wake(): void {
    this.#loop.wake();
  }

  async #dispatch(): Promise<number> {
    if (!this.#isBegun && this.#options.pollMs === Number.POSITIVE_INFINITY) await this.#leases.releaseForeign();
    this.#isBegun = true;
    const { isDue, next } = await this.#leases.look();
    const room = this.#lanes.room();
    if (isDue && (room.healthy.free() > 0 || room.failing.free() > 0)) {
      const claimed = await this.#leases.claim(room, MAX_CLAIMS);
      for (const queue of claimed) this.#admit(queue);
      if (claimed.length > 0) return 0;
    }
    const { clock, pollMs } = this.#options;
    return Math.min(pollMs, next === null ? Number.POSITIVE_INFINITY : Math.max(0, Date.parse(next) - clock.now().getTime()));
  }

  #admit(queue: Claimed): void {
    if (this.#turns.has(queue.uid) || this.#lanes.hasPlace(queue.uid, queue.health.failures > 0)) this.#begin(queue);
    else void this.#ledger.release({ uid: queue.uid, health: queue.health, recoveredSince: null, notBefore: this.#after(FULL_MS) });
  }

  #after(ms: number): string {
    return new Date(this.#options.clock.now().getTime() + ms).toISOString();
  }

  /** Somebody may have freed a queue that has its turn here (a resumption does): then that turn ends first, and what it says of the queue is old. */
  #begin(queue: Claimed): void {
    const before = this.#turns.get(queue.uid);
    if (before !== undefined) before.isOver = true;
    const turn: Turn = { isOver: this.#isClosed, ended: Promise.resolve(before?.ended).then(() => this.#run(queue, turn)) };
    this.#turns.set(queue.uid, turn);
  }

  async #run(queue: Claimed, turn: Turn): Promise<void> {
    const { standing, isFaulty } = await this.#take(queue, turn);
    if (this.#turns.get(queue.uid) !== turn) return;
    const { health, recoveredSince } = standing;
    const notBefore = isFaulty ? this.#after(FAULT_MS) : null;
    await this.#ledger.release({ uid: queue.uid, health, recoveredSince, notBefore });
    // It may have been claimed anew as soon as it was free.
    if (this.#turns.get(queue.uid) === turn) this.#turns.delete(queue.uid);
    this.wake();
  }

  async #take(queue: Claimed, turn: Turn): Promise<{ standing: Standing; isFaulty: boolean }> {
    using place = this.#lanes.enter(queue.uid, queue.health.failures > 0);
    const watch = { isOver: () => turn.isOver, signal: this.#stop.signal, onAttempt: () => place.onAttempt() };
    try {
      const standing = await takeTurn(queue, { ...this.#options, ledger: this.#ledger }, watch);
      return { standing, isFaulty: standing.attempts === 0 && !turn.isOver };
    } catch (error) {
      this.#options.log.error({ err: error, subscription: queue.uid }, "deliveries could not be made; they are tried again");
      return { standing: { health: queue.health, recoveredSince: null, attempts: 0 }, isFaulty: true };
    }
  }

  async #renew(): Promise<number> {
    const before = [...this.#turns];
    if (before.length > 0) {
      const held = await this.#leases.renew(before.map(([uid]) => uid));
      for (const [uid, turn] of before) turn.isOver ||= !held.has(uid);
    }
    return 0;
  }

  /** Attempts that are under way may end, for a while; what they brought is recorded, and the leases are given back. */
  async [Symbol.asyncDispose](): Promise<void> {
    this.#isClosed = true;
    await this.#loop[Symbol.asyncDispose]();
    for (const turn of this.#turns.values()) turn.isOver = true;
    const ended = Promise.all([...this.#turns.values()].map((turn) => turn.ended));
    await Promise.race([ended, sleep(STOP_MS)]);
    this.#stop.abort();
    await Promise.all([ended, this.#ledger.close()]);
    await this.#renewal[Symbol.asyncDispose]();
    await this.#leases.releaseAll().catch((error: unknown) => this.#options.log.warn({ err: error }, "leases were not given back"));
  }
}
