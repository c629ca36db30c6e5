/**
 * The single writer of an SQLite file. It groups commits: transactions that arrive during a commit share the next one.
 */
import { setImmediate as nextTurn, setTimeout as sleep } from "node:timers/promises";
import { unavailable } from "../lib/errors.ts";
import type { Log } from "../lib/log.ts";
import type { Observation } from "./observation.ts";
import { setState } from "./server-state.ts";
import { isBusy, type SqliteConnection } from "./sqlite-connection.ts";
import { sqliteDialect } from "./sqlite-dialect.ts";
import type { WriteDb } from "./store.ts";
import { type Attempt, appendAtOnce, createAttempt } from "./transaction.ts";
import { WRITE_PROBE, WriteHealth } from "./write-health.ts";

/** Limits of a group, so that finished transactions do not wait long for the others. */
const MAX_GROUP = 64;
const MAX_GROUP_MS = 10;
/** How long to wait for another process that holds the write lock. */
const BUSY_TIMEOUT_MS = 5000;

interface Job {
  work(db: WriteDb): Promise<unknown>;
  resolve(value: unknown): void;
  reject(error: unknown): void;
}

/** A job whose work is done. Its promise settles when the group is durable. */
interface Finished {
  readonly job: Job;
  readonly attempt: Attempt;
  readonly outcome: { readonly value: unknown } | { readonly error: unknown };
}

export class SqliteWriter implements AsyncDisposable {
  readonly #connection: SqliteConnection;
  readonly #log: Log;
  readonly #observation: Observation;
  readonly #health = new WriteHealth();
  #queue: Job[] = [];
  readonly #exclusive: (() => Promise<void>)[] = [];
  #pump: Promise<void> | undefined;
  #isClosed = false;
  /** Is called after each commit. */
  onCommit: () => void = () => {};

  /** Takes ownership of the connection. */
  constructor(connection: SqliteConnection, log: Log, observation: Observation) {
    this.#connection = connection;
    this.#observation = observation;
    this.#log = log;
    // Waiting inside SQLite would block the whole process.
    this.#exec("pragma busy_timeout = 0");
  }

  transaction<T>(work: (db: WriteDb) => Promise<T>): Promise<T> {
    if (this.#isClosed) return Promise.reject(unavailable("the server is shutting down"));
    return new Promise<T>((resolve, reject) => {
      this.#queue.push({ work, resolve: resolve as Job["resolve"], reject });
      this.#pump ??= this.#run();
    });
  }

  /** Transactions that have not begun. */
  get waiting(): number {
    return this.#queue.length;
  }

  /** Resolves unless writes fail. @throws UNAVAILABLE */
  probe(): Promise<void> {
    return this.#health.probe(() => this.transaction((db) => setState(db, WRITE_PROBE, new Date().toISOString())));
  }

  /** Runs a statement to its end, in a transaction. The queries of a handle stop a pragma after its first step. */
  exec(sql: string): Promise<void> {
    return this.transaction(async () => this.#exec(sql));
  }

  /** Runs work between two transactions. */
  exclusively<T>(work: () => Promise<T>): Promise<T> {
    if (this.#isClosed) return Promise.reject(unavailable("the server is shutting down"));
    return new Promise<T>((resolve, reject) => {
      this.#exclusive.push(() => work().then(resolve, reject));
      this.#pump ??= this.#run();
    });
  }

  async #run(): Promise<void> {
    try {
      while (this.#queue.length + this.#exclusive.length > 0) {
        // Lets all requests that have already arrived join the group; otherwise the first would always commit alone.
        await nextTurn();
        await this.#exclusive.shift()?.();
        if (this.#queue.length > 0) await this.#commitGroup();
      }
    } finally {
      this.#pump = undefined;
    }
  }

  async #commitGroup(): Promise<void> {
    const group: Finished[] = [];
    try {
      await this.#begin();
      await this.#runJobs(group);
      this.#exec("commit");
    } catch (error) {
      this.#rollBack();
      const failed = group.length > 0 ? group.map(({ job }) => job) : this.#queue.splice(0);
      this.#log.error({ err: error }, "a group commit failed");
      const reason = unavailable("the database cannot store changes at the moment", { cause: error });
      this.#health.failed(reason);
      for (const job of failed) job.reject(reason);
      return;
    }
    this.#health.succeeded();
    this.onCommit();
    for (const { job, attempt, outcome } of group) {
      if ("error" in outcome) {
        this.#health.failed(outcome.error);
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

  /**
   * Runs queued jobs until the queue is empty or the group is full. A failed job undoes only itself.
   * @throws if the whole group is lost
   */
  async #runJobs(group: Finished[]): Promise<void> {
    const end = performance.now() + MAX_GROUP_MS;
    const statements = appendAtOnce(this.#observation.statements("write", async (query) => this.#connection.execute(query)));
    do {
      const job = this.#queue.shift();
      if (job === undefined) return;
      const attempt = createAttempt(sqliteDialect, statements);
      // Added before it runs, so that it is rejected if the group is lost.
      const index = group.push({ job, attempt, outcome: { error: undefined } }) - 1;
      this.#exec("savepoint work");
      let outcome: Finished["outcome"];
      try {
        outcome = { value: await attempt.run(job.work) };
      } catch (error) {
        // On a full disk or an I/O error SQLite may already have rolled back the whole group.
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
      this.#log.error({ err: error }, "the rollback failed");
    }
  }

  /** Rejects new transactions, and resolves when all earlier ones are settled. */
  async finish(): Promise<void> {
    this.#isClosed = true;
    await this.#pump;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.finish();
    this.#connection[Symbol.dispose]();
  }
}
