/** Runs imports that wait, one at a time on each server. */
import { Loop } from "../../../jobs/loop.ts";
import type { ImportRow } from "./import-row.ts";
import { type RunOptions, runImport, Stopped } from "./import-run.ts";

/** How often to look for what other servers, that are gone, left behind, and what a later time was set for. */
const POLL_MS = 1000;
const SPACING_MS = 10;

export class ImportWorker implements AsyncDisposable {
  readonly #options: RunOptions;
  readonly #loop: Loop;
  #current: { readonly uid: string; readonly stop: AbortController } | undefined;
  #isBegun = false;
  #isClosed = false;

  constructor(options: RunOptions) {
    this.#options = options;
    this.#loop = new Loop({ name: "running imports", log: options.log, spacingMs: SPACING_MS, step: () => this.#step() });
  }

  /** There may be something to run. */
  wake(): void {
    this.#loop.wake();
  }

  /** The import was deleted. */
  cancel(uid: string): void {
    if (this.#current?.uid === uid) this.#current.stop.abort(new Stopped("not-ours"));
  }

  async #step(): Promise<number> {
    const { store, leases } = this.#options;
    if (!this.#isBegun && store.dialect.notify === undefined) await leases.releaseForeign();
    this.#isBegun = true;
    const row = this.#isClosed ? undefined : await leases.claim();
    if (row === undefined) return POLL_MS;
    await this.#run(row);
    return 0;
  }

  async #run(row: ImportRow): Promise<void> {
    const stop = new AbortController();
    this.#current = { uid: row.uid, stop };
    if (this.#isClosed) stop.abort(new Stopped("ours"));
    try {
      await runImport(row, this.#options, stop);
    } finally {
      this.#current = undefined;
    }
  }

  /** What is under way is stopped, and waits for the next server. */
  async [Symbol.asyncDispose](): Promise<void> {
    this.#isClosed = true;
    this.#current?.stop.abort(new Stopped("ours"));
    await this.#loop[Symbol.asyncDispose]();
  }
}
