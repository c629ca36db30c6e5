/**
 * Records when and from where pull tokens were last used: in the background, in batches, and at most every ten minutes
 * per token and server.
 */
import type { Store } from "../../db/store.ts";
import { Loop } from "../../jobs/loop.ts";
import type { Clock } from "../../lib/clock.ts";
import type { Log } from "../../lib/log.ts";
import { Lru } from "../../lib/lru.ts";

/** A use within this time of the last recorded one is not recorded. */
const PRECISION_MS = 10 * 60_000;
const SPACING_MS = 1000;
const USES_PER_TRANSACTION = 1000;
/** Limits the buffer while the database is down. */
const MAX_WAITING = 100_000;
const MAX_KNOWN_TOKENS = 100_000;

interface Use {
  readonly time: Date;
  readonly address: string;
}

export interface LastUsesOptions {
  readonly store: Store;
  readonly clock: Clock;
  readonly log: Log;
}

export class LastUses implements AsyncDisposable {
  readonly #options: LastUsesOptions;
  /** Times in milliseconds of the last recorded uses. */
  readonly #recorded = new Lru<string, number>(MAX_KNOWN_TOKENS);
  readonly #waiting = new Map<string, Use>();
  readonly #loop: Loop;

  constructor(options: LastUsesOptions) {
    this.#options = options;
    const step = () => this.#write();
    this.#loop = new Loop({ name: "recording uses of pull tokens", log: options.log, spacingMs: SPACING_MS, step });
  }

  record(uid: string, address: string | undefined): void {
    const time = this.#options.clock.now();
    const recorded = this.#recorded.get(uid);
    if (recorded !== undefined && time.getTime() < recorded + PRECISION_MS) return;
    if (this.#waiting.size >= MAX_WAITING) return;
    this.#recorded.set(uid, time.getTime());
    this.#waiting.set(uid, { time, address: address ?? "" });
    this.#loop.wake();
  }

  /** Writes what was waiting when it began. */
  async #write(): Promise<number> {
    const { store } = this.#options;
    const uses = [...this.#waiting];
    for (let start = 0; start < uses.length; start += USES_PER_TRANSACTION) {
      // Servers write the rows in the same order, so they cannot deadlock.
      const batch = uses.slice(start, start + USES_PER_TRANSACTION).sort(([a], [b]) => (a < b ? -1 : 1));
      await store.transaction(async (db) => {
        for (const [uid, { time, address }] of batch) {
          const use = { last_use_time: time.toISOString(), last_use_address: address };
          await db.updateTable("pull_token").set(use).where("uid", "=", uid).execute();
        }
      });
      for (const [uid, use] of batch) if (this.#waiting.get(uid) === use) this.#waiting.delete(uid);
    }
    return Number.MAX_SAFE_INTEGER;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#loop[Symbol.asyncDispose]();
    await this.#write().catch((err: unknown) => this.#options.log.warn({ err }, "cannot record the last uses of pull tokens"));
  }
}
