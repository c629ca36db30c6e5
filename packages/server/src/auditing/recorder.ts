/**
 * Writes refusals and reads to the audit log, in batches, since they have no transaction. Its memory is bounded: beyond it, entries are
 * dropped and counted, and the count becomes an entry.
 */

import { appendAudit } from "../audit/append.ts";
import type { AuditFacts } from "../audit/audit-entry.ts";
import type { AuditRecorder } from "../audit/audit-recorder.ts";
import type { Store } from "../db/store.ts";
import { Loop } from "../jobs/loop.ts";
import type { Clock } from "../lib/clock.ts";
import type { Log } from "../lib/log.ts";

export interface RecorderOptions {
  readonly store: Store;
  readonly clock: Clock;
  readonly log: Log;
}

/** Entries that wait. Each has at most about 2 KiB. */
const MAX_WAITING = 10_000;
const ENTRIES_PER_TRANSACTION = 200;
/** Time between two batches: a crash loses the entries of as long. */
const SPACING_MS = 500;

export class Recorder implements AuditRecorder, AsyncDisposable {
  readonly #options: RecorderOptions;
  readonly #loop: Loop;
  /** By what makes refusals of anonymous callers equal; others have keys of their own. */
  #waiting = new Map<string, AuditFacts>();
  #dropped = 0;
  #serial = 0;

  constructor(options: RecorderOptions) {
    this.#options = options;
    const step = () => this.#flush();
    this.#loop = new Loop({ name: "recording audit entries", log: options.log, spacingMs: SPACING_MS, step });
  }

  record(facts: AuditFacts): void {
    const key = facts.actor === "" ? keyOf(facts) : `${this.#serial++}`;
    const known = this.#waiting.get(key);
    if (known !== undefined) this.#waiting.set(key, { ...known, count: (known.count ?? 1) + 1 });
    else if (this.#waiting.size >= MAX_WAITING) this.#dropped++;
    else this.#waiting.set(key, facts);
    this.#loop.wake();
  }

  /** Entries leave the queue once they are committed. */
  async #flush(): Promise<number> {
    while (this.#waiting.size > 0 || this.#dropped > 0) {
      const batch = this.#waiting;
      const dropped = this.#dropped;
      this.#waiting = new Map();
      this.#dropped = 0;
      await this.#write([...batch], dropped);
    }
    return 60_000;
  }

  async #write(batch: readonly (readonly [string, AuditFacts])[], dropped: number): Promise<void> {
    const { store, clock } = this.#options;
    let written = 0;
    try {
      for (; written < batch.length; written += ENTRIES_PER_TRANSACTION) {
        const part = batch.slice(written, written + ENTRIES_PER_TRANSACTION);
        await store.transaction(async (db) => {
          for (const [, facts] of part) await appendAudit(db, facts);
        });
      }
      if (dropped > 0) await store.transaction((db) => appendAudit(db, droppedFacts(dropped, clock.now())));
    } catch (error) {
      this.#restore(batch.slice(written), dropped);
      throw error;
    }
  }

  #restore(batch: readonly (readonly [string, AuditFacts])[], dropped: number): void {
    const kept = [...batch, ...this.#waiting].slice(0, MAX_WAITING);
    this.#dropped += dropped + batch.length + this.#waiting.size - kept.length;
    // A key that came again meanwhile is a refusal of its own.
    this.#waiting = new Map(kept.map(([key, facts]) => [`${key} ${this.#serial++}`, facts]));
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#loop[Symbol.asyncDispose]();
    await this.#flush().catch((err: unknown) => this.#options.log.error({ err }, "audit entries were lost at the end"));
  }
}

function keyOf({ action, target, outcome, remoteAddress, message }: AuditFacts): string {
  return JSON.stringify([action, target, outcome, remoteAddress, message]);
}

function droppedFacts(count: number, now: Date): AuditFacts {
  const message = "refusals came faster than they could be recorded";
  return { action: "audit.dropped", actor: "", target: "", organization: "", outcome: "RESOURCE_EXHAUSTED", message, count, now };
}
