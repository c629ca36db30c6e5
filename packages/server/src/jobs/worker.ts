/**
 * A background worker: claims rows that are due, works on several of them at a time, renews their leases meanwhile, and
 * releases them when the server stops.
 */
import type { Log } from "../lib/log.ts";
import type { Lease } from "./lease.ts";
import { Loop } from "./loop.ts";

/** Why a run was aborted: this server does not have the row any more. The run must write nothing more about it, and must not release it. */
export class LostLease extends Error {
  override readonly name = "LostLease";
}

/** Why a run was aborted: the server stops, and the next server goes on. */
export class Stopping extends Error {
  override readonly name = "Stopping";
}

/** The result of a search for work. */
export interface ClaimResult<Item> {
  readonly claimed: readonly Item[];
  /** After how many milliseconds to search again, at the latest. */
  readonly nextMs: number;
}

export interface WorkerOptions<Item> {
  /** What the worker does, for the log: "importing advisories". */
  readonly name: string;
  readonly log: Log;
  readonly lease: Lease;
  readonly renewMs: number;
  /** Maximum number of rows that run at the same time. Without it, `claim` limits them. */
  readonly maxRuns?: number;
  /** The key of the claimed row. */
  keyOf(item: Item): string;
  claim(): Promise<ClaimResult<Item>>;
  /**
   * Works on the row and releases it, unless the signal says that the lease is lost. If it rejects, the error is
   * logged, and the row is claimed again when its lease has ended.
   */
  run(item: Item, signal: AbortSignal): Promise<void>;
  /** Renews the leases in place of `lease.renew`. @returns the keys of the rows that this server still has */
  renew?(items: readonly Item[]): Promise<ReadonlySet<string>>;
  /** A monotonic clock; it decides when a lease that could not be renewed has ended. */
  readonly now?: () => number;
}

interface Run<Item> {
  readonly item: Item;
  readonly stop: AbortController;
  readonly ended: Promise<void>;
  /** When the lease ends, by the monotonic clock. Counted from before it was claimed or renewed. */
  heldUntil: number;
}

/** The least time between two searches. */
const SPACING_MS = 10;

export class Worker<Item> implements AsyncDisposable {
  readonly #options: WorkerOptions<Item>;
  /** By the keys of their rows. */
  readonly #runs = new Map<string, Run<Item>>();
  readonly #search: Loop;
  readonly #renewal: Loop;
  readonly #now: () => number;
  #isPrepared = false;
  #isClosed = false;

  constructor(options: WorkerOptions<Item>) {
    const { name, log, renewMs } = options;
    this.#options = options;
    this.#now = options.now ?? (() => performance.now());
    this.#search = new Loop({ name, log, spacingMs: SPACING_MS, step: () => this.#step() });
    this.#renewal = new Loop({ name: `${name}: renewing leases`, log, spacingMs: renewMs, step: () => this.#renew() });
  }

  /** There may be something to do. Costs next to nothing. */
  wake(): void {
    this.#search.wake();
  }

  isRunning(key: string): boolean {
    return this.#runs.has(key);
  }

  /**
   * Whether this server may still work on the row. False as soon as its lease has ended, even before the signal says so:
   * a process that was frozen runs other callbacks first.
   */
  holds(key: string): boolean {
    const run = this.#runs.get(key);
    return run !== undefined && !run.stop.signal.aborted && this.#now() < run.heldUntil;
  }

  /** The row is deleted or was given to another server: a run that works on it is aborted. */
  abort(key: string): void {
    this.#runs.get(key)?.stop.abort(new LostLease(key));
  }

  async #step(): Promise<number> {
    if (!this.#isPrepared) await this.#options.lease.releaseLeftBehind();
    this.#isPrepared = true;
    // The end of a run leads to the next step.
    if (this.#isClosed || this.#runs.size >= (this.#options.maxRuns ?? Number.POSITIVE_INFINITY)) return Number.POSITIVE_INFINITY;
    const begun = this.#now();
    const { claimed, nextMs } = await this.#options.claim();
    for (const item of claimed) this.#begin(item, begun + this.#options.lease.durationMs);
    return nextMs;
  }

  /** A row may be claimed while a run still works on it: its lease ended, or somebody released it. Then that run ends first. */
  #begin(item: Item, heldUntil: number): void {
    const { keyOf } = this.#options;
    const key = keyOf(item);
    const before = this.#runs.get(key);
    before?.stop.abort(new LostLease(key));
    const stop = new AbortController();
    if (this.#isClosed) stop.abort(new Stopping());
    const run: Run<Item> = {
      item,
      stop,
      heldUntil,
      ended: Promise.resolve(before?.ended).then(async () => {
        await this.#run(item, stop.signal);
        if (this.#runs.get(key) === run) this.#runs.delete(key);
        this.wake();
      }),
    };
    this.#runs.set(key, run);
    this.#watch(key, run);
  }

  /** Aborts the run when its lease has ended, for example because the database cannot be reached: another server may claim the row. */
  #watch(key: string, run: Run<Item>): void {
    if (this.#runs.get(key) !== run || run.stop.signal.aborted) return;
    const leftMs = run.heldUntil - this.#now();
    if (leftMs > 0) setTimeout(() => this.#watch(key, run), leftMs).unref();
    else run.stop.abort(new LostLease(key));
  }

  async #run(item: Item, signal: AbortSignal): Promise<void> {
    const { name, log, run, keyOf } = this.#options;
    try {
      await run(item, signal);
    } catch (error) {
      log.error({ err: error, key: keyOf(item) }, `${name} failed; it is tried again`);
    }
  }

  async #renew(): Promise<number> {
    const before = [...this.#runs];
    if (before.length === 0) return 0;
    const { lease, renew } = this.#options;
    const begun = this.#now();
    const held = await (renew?.(before.map(([, { item }]) => item)) ?? lease.renew(before.map(([key]) => key)));
    for (const [key, run] of before) {
      if (held.has(key)) run.heldUntil = begun + lease.durationMs;
      else run.stop.abort(new LostLease(key));
    }
    return 0;
  }

  /** Aborts the runs and waits for them. */
  async [Symbol.asyncDispose](): Promise<void> {
    const { lease, log, name } = this.#options;
    this.#isClosed = true;
    for (const { stop } of this.#runs.values()) stop.abort(new Stopping());
    await this.#search[Symbol.asyncDispose]();
    await Promise.all([...this.#runs.values()].map(({ ended }) => ended));
    await this.#renewal[Symbol.asyncDispose]();
    await lease.releaseAll().catch((error: unknown) => log.warn({ err: error }, `${name}: leases were not released`));
  }
}
