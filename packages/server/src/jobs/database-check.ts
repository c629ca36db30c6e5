/**
 * Checks an SQLite file in the background for damaged pages, one table at a time, on a thread. Damage would otherwise
 * stay unnoticed until a call happens to read the page, and would go into every backup.
 */
import type { Log } from "../lib/log.ts";
import type { CheckJob } from "./database-check-thread.ts";
import { JobThreads } from "./job-threads.ts";
import { Loop, waitFully } from "./loop.ts";

export interface DatabaseCheckOptions {
  readonly path: string;
  readonly log: Log;
  /** The pause between two checks of the whole file. */
  readonly intervalMs: number;
}

/** Time between the start of the server and the first check. */
const START_MS = 60_000;
/** After each table, the pause is this multiple of the time that its check took. */
const PAUSE_FACTOR = 10;

export class DatabaseCheck implements AsyncDisposable {
  readonly #options: DatabaseCheckOptions;
  readonly #threads: JobThreads<CheckJob, never, never, readonly string[]>;
  readonly #loop: Loop;
  readonly #closing = new AbortController();
  readonly #damaged = new Set<string>();
  #waiting: string[] = [];
  #hasStarted = false;

  constructor(options: DatabaseCheckOptions) {
    this.#options = options;
    const module = new URL("./database-check-thread.ts", import.meta.url);
    this.#threads = new JobThreads({ module, name: "database-check", maxHeapMb: 32 });
    const step = waitFully(() => this.#step());
    this.#loop = new Loop({ name: "checking the database file", log: options.log, spacingMs: 0, step });
  }

  /** A problem for readiness; undefined while no damage is known. */
  problem(): string | undefined {
    return this.#damaged.size === 0 ? undefined : `the database file is damaged, in ${[...this.#damaged].join(", ")}; restore a backup`;
  }

  async #step(): Promise<number> {
    const { path, intervalMs } = this.#options;
    if (!this.#hasStarted) {
      this.#hasStarted = true;
      return Math.min(START_MS, intervalMs);
    }
    if (this.#waiting.length === 0) this.#waiting = [...(await this.#run({ path, table: undefined }))];
    const [table] = this.#waiting;
    if (table === undefined) return intervalMs;
    const begun = performance.now();
    this.#note(table, await this.#run({ path, table }));
    this.#waiting.shift();
    return this.#waiting.length === 0 ? intervalMs : PAUSE_FACTOR * (performance.now() - begun);
  }

  #run(job: CheckJob): Promise<readonly string[]> {
    return this.#threads.run(job, () => {}, this.#closing.signal);
  }

  #note(table: string, problems: readonly string[]): void {
    if (problems.length === 0) return void this.#damaged.delete(table);
    this.#damaged.add(table);
    this.#options.log.error({ table, problems }, "the database file is damaged; stop the server and restore a backup");
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#closing.abort(new Error("the server is shutting down"));
    await this.#loop[Symbol.asyncDispose]();
    await this.#threads[Symbol.asyncDispose]();
  }
}
