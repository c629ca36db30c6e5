/** The one writer of an SQLite file. Commits are grouped: whoever asks while another commit is being made durable shares the next one. */
import { setImmediate as nextTurn, setTimeout as sleep } from "node:timers/promises";
import { unavailable } from "../lib/errors.ts";
import type { Log } from "../lib/log.ts";
import { sqliteDialect } from "./dialect.ts";
import { isBusy, type SqliteConnection } from "./sqlite-connection.ts";
import type { WriteDb } from "./store.ts";
import { type Attempt, createAttempt } from "./transaction.ts";

/** Bounds of a group: beyond them those who are done would wait for those who are not. */
const MAX_GROUP = 64;
const MAX_GROUP_MS = 10;
/** How long another process may hold the write lock. */
const BUSY_TIMEOUT_MS = 5000;

interface Job {
  work(db: WriteDb): Promise<unknown>;
  resolve(value: unknown): void;
  reject(error: unknown): void;
}

/** A job whose work is over; it is settled when the group is durable. */
interface Finished {
  readonly job: Job;
  readonly attempt: Attempt;
  readonly outcome: { readonly value: unknown } | { readonly error: unknown };
}

export class SqliteWriter implements AsyncDisposable {
  readonly #connection: SqliteConnection;
  readonly #log: Log;
  #queue: Job[] = [];
  #pump: Promise<void> | undefined;
  #isClosed = false;

  /** Owns the connection from here on. */
  constructor(connection: SqliteConnection, log: Log) {
    this.#connection = connection;
    this.#log = log;
    // SQLite's own waiting would stop the whole process.
    this.#exec("pragma busy_timeout = 0");
  }

  transaction<T>(work: (db: WriteDb) => Promise<T>): Promise<T> {
    if (this.#isClosed) return Promise.reject(unavailable("the server is shutting down"));
    return new Promise<T>((resolve, reject) => {
      this.#queue.push({ work, resolve: resolve as Job["resolve"], reject });
      this.#pump ??= this.#run();
    });
  }

  async #run(): Promise<void> {
    try {
      while (this.#queue.length > 0) {
        // Until every request that has already arrived had its turn; begun at once, the first of them would always be alone in its group.
        await nextTurn();
        await this.#commitGroup();
      }
    } finally {
      this.#pump = undefined;
    }
  }

  async #commitGroup(): Promise<void> {
    const group: Finished[] = [];
    try {
      await this.#begin();
      await this.#workOff(group);
      this.#exec("commit");
    } catch (error) {
      this.#rollBack();
      const failed = group.length > 0 ? group.map(({ job }) => job) : this.#queue.splice(0);
      this.#log.error({ err: error }, "the database did not take a group of transactions");
      const reason = unavailable("the database cannot store this now", { cause: error });
      for (const job of failed) job.reject(reason);
      return;
    }
    for (const { job, attempt, outcome } of group) {
      if ("error" in outcome) {
        job.reject(outcome.error);
      } else {
        attempt.committed(this.#log);
        job.resolve(outcome.value);
      }
    }
  }

  async #begin(): Promise<void> {
    const deadline = performance.now() + BUSY_TIMEOUT_MS;
    for (let pause = 1; ; pause = Math.min(pause * 2, 50)) {
      try {
        this.#exec("begin immediate");
        return;
      } catch (error) {
        if (!isBusy(error) || performance.now() > deadline) throw error;
      }
      await sleep(pause);
    }
  }

  /** Does the queue's work until it is empty or the group is full. A work that fails undoes only itself; it throws where the whole group is lost. */
  async #workOff(group: Finished[]): Promise<void> {
    const end = performance.now() + MAX_GROUP_MS;
    do {
      const job = this.#queue.shift();
      if (job === undefined) return;
      const attempt = createAttempt(sqliteDialect, async (query) => this.#connection.execute(query));
      // In the group before it is done, so that it is rejected with it.
      const index = group.push({ job, attempt, outcome: { error: undefined } }) - 1;
      this.#exec("savepoint work");
      let outcome: Finished["outcome"];
      try {
        outcome = { value: await attempt.run(job.work) };
      } catch (error) {
        // On a full disk or an I/O error SQLite may have rolled back all by itself.
        if (!this.#connection.database.isTransaction) throw error;
        this.#exec("rollback to work");
        outcome = { error };
      }
      this.#exec("release work");
      group[index] = { job, attempt, outcome };
    } while (group.length < MAX_GROUP && performance.now() < end);
  }

  #exec(sql: string): void {
    this.#connection.database.exec(sql);
  }

  #rollBack(): void {
    try {
      if (this.#connection.database.isTransaction) this.#exec("rollback");
    } catch (error) {
      this.#log.error({ err: error }, "the database did not roll back");
    }
  }

  /** Refuses what comes from now on, and resolves when everything before that is settled. */
  async finish(): Promise<void> {
    this.#isClosed = true;
    await this.#pump;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.finish();
    this.#connection[Symbol.dispose]();
  }
}
