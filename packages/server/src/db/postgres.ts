/** The PostgreSQL store, for any number of server processes: a pool of read-only connections and a pool that writes. */
import { setTimeout as sleep } from "node:timers/promises";
import { CompiledQuery } from "kysely";
import pg from "pg";
import { unavailable } from "../lib/errors.ts";
import type { Log } from "../lib/log.ts";
import { postgresDialect } from "./dialect.ts";
import { createReadHandle, type Execute } from "./handle.ts";
import { executeOn, executePlainOn, isBroken } from "./postgres-statements.ts";
import type { ReadDb, Store, WriteDb } from "./store.ts";
import { createAttempt, retryConflicts } from "./transaction.ts";

export interface PostgresOptions {
  /** A `postgres://` address. */
  readonly url: string;
  readonly log: Log;
  /** Maximum number of open connections, per pool. */
  readonly readers?: number;
  readonly writers?: number;
}

/** Does not connect yet and does not migrate. */
export function openPostgres({ url, log, readers = 10, writers = 10 }: PostgresOptions): Store {
  const readOnly = createPool(url, log, { max: readers, query_timeout: 35_000 }, "default_transaction_read_only = on", CUSTOM_PLANS);
  // No query_timeout here, because a migration may take long.
  return new PostgresStore(readOnly, createPool(url, log, { max: writers }), log);
}

/**
 * The driver reads 64-bit integers as strings. Holt's are counts and sequence numbers far below 2^53, so numbers will
 * do.
 */
const TYPES = {
  getTypeParser: (oid: number, format: "text") => (oid === pg.types.builtins.INT8 ? Number : pg.types.getTypeParser(oid, format)),
};

/** A range of uids may contain one row or a million, so one generic plan cannot fit all parameters. */
const CUSTOM_PLANS = "plan_cache_mode = force_custom_plan";
const PING_TIMEOUT_MS = 5000;
const SETTINGS = ["statement_timeout = '30s'", "lock_timeout = '10s'", "idle_in_transaction_session_timeout = '60s'"];

function createPool(url: string, log: Log, limits: pg.PoolConfig, ...settings: string[]): pg.Pool {
  const setUp = [...SETTINGS, ...settings].map((setting) => `set ${setting}`).join("; ");
  const pool = new pg.Pool({
    connectionString: url,
    application_name: "holt",
    ...limits,
    connectionTimeoutMillis: 5000,
    idleTimeoutMillis: 60_000,
    // Reconnecting follows a database that failed over, and frees memory on its server.
    maxLifetimeSeconds: 3600,
    keepAlive: true,
    types: TYPES as pg.CustomTypesConfig,
    // Statements, because the address can override start-up parameters.
    onConnect: (client) => client.query(setUp),
  });
  pool.on("error", (error) => log.warn({ err: error }, "an idle database connection was lost"));
  // The pool does not listen while a connection is checked out, and an unhandled error event ends the process.
  pool.on("connect", (client) => client.on("error", () => {}));
  return pool;
}

class PostgresStore implements Store {
  readonly dialect = postgresDialect;
  readonly reader: ReadDb;
  readonly #readers: pg.Pool;
  readonly #writers: pg.Pool;
  readonly #log: Log;

  constructor(readers: pg.Pool, writers: pg.Pool, log: Log) {
    this.#readers = readers;
    this.#writers = writers;
    this.#log = log;
    this.reader = createReadHandle(postgresDialect, (query) => this.#read(query));
  }

  #read: Execute = (query) => retryConflicts(() => this.#withClient(this.#readers, (client) => executeOn(client, query)));

  transaction<T>(work: (db: WriteDb) => Promise<T>): Promise<T> {
    return retryConflicts(async () => {
      const { value, attempt } = await this.#withClient(this.#writers, async (client) => {
        const attempt = createAttempt(postgresDialect, (query) => executeOn(client, query));
        const value = await inTransaction(client, "isolation level read committed read write", () => attempt.run(work));
        return { value, attempt };
      });
      attempt.committed(this.#log);
      return value;
    });
  }

  snapshot<T>(work: (db: ReadDb) => Promise<T>): Promise<T> {
    return retryConflicts(() =>
      this.#withClient(this.#readers, async (client) => {
        let isOver = false;
        const db = createReadHandle(postgresDialect, async (query) => {
          if (isOver) throw new Error("this snapshot is over: its work did not await a statement");
          return executeOn(client, query);
        });
        return inTransaction(client, "isolation level repeatable read read only", () => work(db).finally(() => (isOver = true)));
      }),
    );
  }

  async #withClient<T>(pool: pg.Pool, use: (client: pg.PoolClient) => Promise<T>): Promise<T> {
    const client = await pool.connect().catch((error: unknown) => {
      throw pool.ending ? unavailable("the server is shutting down") : unavailable("cannot connect to the database", { cause: error });
    });
    try {
      return await use(client);
    } finally {
      client.release(isBroken(client));
    }
  }

  async ping(): Promise<void> {
    const timeout = sleep(PING_TIMEOUT_MS, undefined, { ref: false }).then(() => {
      throw unavailable("the database does not answer");
    });
    await Promise.race([this.#read(CompiledQuery.raw("select 1")), timeout]);
  }

  /** Waits until all connections are released. */
  async [Symbol.asyncDispose](): Promise<void> {
    await Promise.all([this.#readers.end(), this.#writers.end()]);
  }
}

async function inTransaction<T>(client: pg.PoolClient, mode: string, work: () => Promise<T>): Promise<T> {
  await executePlainOn(client, `begin ${mode}`);
  try {
    const value = await work();
    await executePlainOn(client, "commit");
    return value;
  } catch (error) {
    // If this fails, the connection is broken, and the server rolls back when it is closed.
    await executePlainOn(client, "rollback").catch(() => {});
    throw error;
  }
}
