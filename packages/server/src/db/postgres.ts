/** The PostgreSQL store, for any number of server processes: a pool of read-only connections and a pool that writes. */
import { setTimeout as sleep } from "node:timers/promises";
import { CompiledQuery } from "kysely";
import pg from "pg";
import { HoltError, unavailable } from "../lib/errors.ts";
import type { Log } from "../lib/log.ts";
import { type Meter, noMeter } from "../lib/meter.ts";
import { noTracer, type Tracer } from "../lib/tracer.ts";
import { createReadHandle, type Execute } from "./handle.ts";
import { weightOf } from "./lookup.ts";
import { createObservation, type Observation } from "./observation.ts";
import { destroyConnection } from "./postgres-connection.ts";
import { postgresDialect } from "./postgres-dialect.ts";
import { type PostgresHosts, postgresHosts } from "./postgres-hosts.ts";
import { PostgresLookups } from "./postgres-lookups.ts";
import { executeOn, executePlainOn, isBroken, markBroken } from "./postgres-statements.ts";
import { createPostgresTransaction, type PostgresTransaction } from "./postgres-transaction.ts";
import { Watchdog, type WatchOptions, withTimeout } from "./postgres-watchdog.ts";
import type { DatabaseUsage, PoolUsage, ReadDb, Store, TransactionOptions, WriteDb } from "./store.ts";
import { createAttempt, RETRY_AFTER_SECONDS, retryConflicts } from "./transaction.ts";
import { WRITE_PROBE, WriteHealth } from "./write-health.ts";

export interface PostgresOptions {
  /** A `postgres://` address, of one host or several. */
  readonly url: string;
  readonly log: Log;
  /** Maximum number of open connections, per pool. */
  readonly readers?: number;
  readonly writers?: number;
  readonly meter?: Meter | undefined;
  readonly tracer?: Tracer | undefined;
}

/** Does not connect yet and does not migrate. */
export function openPostgres({ url, log, readers = 10, writers = 10, meter = noMeter, tracer = noTracer }: PostgresOptions): Store {
  const hosts = postgresHosts(url);
  const watchdog = new Watchdog(hosts, log);
  const parts = { hosts, log, watchdog, observation: createObservation({ meter, tracer, dialect: postgresDialect }) };
  const readOnly = createPool(parts, readers, "default_transaction_read_only = on", CUSTOM_PLANS);
  return new PostgresStore(readOnly, createPool(parts, writers), parts);
}

interface StoreParts {
  readonly hosts: PostgresHosts;
  readonly log: Log;
  readonly watchdog: Watchdog;
  readonly observation: Observation;
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
/** Grace period for running statements when the store is closed. */
const CLOSE_MS = 5000;
// Shorter than the watchdog's limit of 30 seconds, so that the database itself ends a statement where it still can.
const SETTINGS = ["statement_timeout = '28s'", "lock_timeout = '10s'", "idle_in_transaction_session_timeout = '60s'"];

function createPool({ hosts, log, watchdog }: StoreParts, max: number, ...settings: string[]): pg.Pool {
  const setUp = [...SETTINGS, ...settings].map((setting) => `set ${setting}`).join("; ");
  class HostClient extends pg.Client {
    constructor(config?: pg.ClientConfig) {
      super({ ...config, connectionString: hosts.url });
    }
  }
  const pool = new pg.Pool({
    Client: HostClient,
    application_name: "holt",
    max,
    connectionTimeoutMillis: 5000,
    idleTimeoutMillis: 60_000,
    // Reconnecting follows a database that failed over, and frees memory on its server.
    maxLifetimeSeconds: 3600,
    keepAlive: true,
    keepAliveInitialDelayMillis: 5000,
    // Lookups need it. Everything else waits for each answer.
    pipeline: true,
    types: TYPES as pg.CustomTypesConfig,
    onConnect: async (client) => {
      // Statements, because the address can override start-up parameters.
      await client.query(withTimeout(setUp));
      await watchdog.introduce(client);
    },
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
  readonly #parts: StoreParts;
  readonly #lookups: PostgresLookups;
  readonly #writeHealth = new WriteHealth();

  constructor(readers: pg.Pool, writers: pg.Pool, parts: StoreParts) {
    this.#readers = readers;
    this.#writers = writers;
    this.#parts = parts;
    const { watchdog } = parts;
    this.#lookups = new PostgresLookups((work) => this.#withClient(readers, (client) => watchdog.watch(client, () => work(client))));
    this.reader = createReadHandle(postgresDialect, parts.observation.statements("read", this.#read));
  }

  #read: Execute = (query) =>
    retryConflicts(() =>
      weightOf(query) === undefined
        ? this.#withClient(this.#readers, (client) => this.#parts.watchdog.watch(client, () => executeOn(client, query)))
        : this.#lookups.execute(query),
    );

  transaction<T>(work: (db: WriteDb) => Promise<T>, options: TransactionOptions = {}): Promise<T> {
    return this.#parts.observation.transaction(work, (bound) => this.#transaction(bound, options));
  }

  #transaction<T>(work: (db: WriteDb) => Promise<T>, { hasNoTimeLimit: hasNoLimit = false }: TransactionOptions): Promise<T> {
    return retryConflicts(async () => {
      try {
        const { value, attempt, isBegun } = await this.#withTransactionClient(this.#writers, async (client) => {
          const statements = this.#statements("write", client, { hasNoLimit });
          const attempt = createAttempt(postgresDialect, statements);
          const value = await this.#inTransaction(client, statements, () => attempt.run(work));
          return { value, attempt, isBegun: statements.isBegun };
        });
        if (isBegun) this.#writeHealth.succeeded();
        attempt.committed(this.#parts.log);
        return value;
      } catch (error) {
        this.#writeHealth.failed(error);
        throw error;
      }
    });
  }

  snapshot<T>(work: (db: ReadDb) => Promise<T>): Promise<T> {
    return retryConflicts(() =>
      this.#withTransactionClient(this.#readers, async (client) => {
        let isOver = false;
        const statements = this.#statements("snapshot", client);
        const db = createReadHandle(postgresDialect, async (query) => {
          if (isOver) throw new Error("this snapshot is over: its work did not await a statement");
          return statements.execute(query);
        });
        return this.#inTransaction(client, statements, () => work(db).finally(() => (isOver = true)));
      }),
    );
  }

  #statements(kind: "write" | "snapshot", client: pg.PoolClient, options?: WatchOptions): PostgresTransaction {
    const { observation, watchdog } = this.#parts;
    return createPostgresTransaction({
      client,
      begin: () => this.#begin(client, BEGIN[kind]),
      execute: observation.statements(kind, (query) => executeOn(client, query)),
      watch: (statements) => watchdog.watch(client, statements, options),
    });
  }

  /** A standby refuses to begin a transaction that writes. A new connection may lead to the primary. */
  async #begin(client: pg.PoolClient, begin: string): Promise<void> {
    try {
      await executePlainOn(client, begin);
    } catch (cause) {
      markBroken(client);
      this.#parts.hosts.doubt();
      const reason =
        cause instanceof HoltError
          ? cause
          : unavailable("the database does not accept changes", { cause, retryAfterSeconds: RETRY_AFTER_SECONDS });
      throw this.#parts.watchdog.hasClosed(client) ? reason : new NotBegun(reason);
    }
  }

  async #inTransaction<T>(client: pg.PoolClient, statements: PostgresTransaction, work: () => Promise<T>): Promise<T> {
    try {
      const value = await work();
      await statements.commit();
      return value;
    } catch (error) {
      const { failure, isCommitSent, isBegun } = statements;
      // The work may have wrapped this error.
      if (failure !== undefined) throw failure.error;
      // The database rolls back when it notices that the connection is closed.
      if (isBroken(client) && isCommitSent) throw unavailable(UNKNOWN_OUTCOME, { cause: error });
      if (isBroken(client)) throw unavailable(NO_OUTCOME, { cause: error, retryAfterSeconds: RETRY_AFTER_SECONDS });
      if (isBegun && !isCommitSent) await this.#parts.watchdog.watch(client, () => executePlainOn(client, "rollback")).catch(() => {});
      throw error;
    }
  }

  /** Takes another connection if one was closed while it was idle, which shows when a transaction begins. All may be closed. */
  async #withTransactionClient<T>(pool: pg.Pool, use: (client: pg.PoolClient) => Promise<T>): Promise<T> {
    for (let tries = 1; ; tries++) {
      try {
        return await this.#withClient(pool, use);
      } catch (error) {
        if (!(error instanceof NotBegun)) throw error;
        if (tries > pool.options.max) throw error.reason;
      }
    }
  }

  async #withClient<T>(pool: pg.Pool, use: (client: pg.PoolClient) => Promise<T>): Promise<T> {
    const client = await this.#connect(pool).catch((error: unknown) => {
      this.#parts.hosts.doubt();
      throw pool.ending
        ? unavailable("the server is shutting down")
        : unavailable("cannot connect to the database", { cause: error, retryAfterSeconds: RETRY_AFTER_SECONDS });
    });
    try {
      return await use(client);
    } finally {
      if (isBroken(client)) {
        destroyConnection(client);
        this.#parts.hosts.doubt();
      }
      client.release(isBroken(client));
    }
  }

  /** Discards idle connections that have probably gone silent. */
  async #connect(pool: pg.Pool): Promise<pg.PoolClient> {
    const { hosts } = this.#parts;
    if (!hosts.isKnown) await hosts.find();
    for (;;) {
      const client = await pool.connect();
      if (!this.#parts.watchdog.isStale(client)) return client;
      destroyConnection(client);
      client.release(true);
    }
  }

  async ping(): Promise<void> {
    const timeout = sleep(PING_TIMEOUT_MS, undefined, { ref: false }).then(() => {
      throw unavailable("the database does not answer");
    });
    const probe = () => this.#parts.hosts.withConnection((client) => client.query(PROBE, [WRITE_PROBE, new Date().toISOString()]));
    const check = async () => {
      await this.#read(CompiledQuery.raw("select 1"));
      await this.#writeHealth.probe(probe).catch((cause: unknown) => {
        throw unavailable("the database cannot store changes", { cause });
      });
    };
    await Promise.race([check(), timeout]);
  }

  async usage(): Promise<DatabaseUsage> {
    const [size] = (await this.#read(CompiledQuery.raw("select pg_database_size(current_database()) as bytes"))).rows;
    const wal = await this.#read(CompiledQuery.raw("select sum(size)::bigint as bytes from pg_ls_waldir()")).catch(() => undefined);
    const pools = [poolUsage("read", this.#readers), poolUsage("write", this.#writers)];
    return { bytes: size.bytes, walBytes: wal?.rows[0].bytes, pools };
  }

  /** Waits until all connections are released. Closes those with a statement that takes longer. */
  async [Symbol.asyncDispose](): Promise<void> {
    const { watchdog } = this.#parts;
    const timer = setTimeout(() => watchdog.closePending(), CLOSE_MS);
    await Promise.all([this.#readers.end(), this.#writers.end()]);
    clearTimeout(timer);
    watchdog[Symbol.dispose]();
  }
}

function poolUsage(pool: PoolUsage["pool"], { totalCount: open, idleCount: idle, waitingCount: waiting }: pg.Pool): PoolUsage {
  return { pool, open, idle, waiting };
}

/** The transaction did not begin, and may begin on another connection. */
class NotBegun extends Error {
  readonly reason: HoltError;

  constructor(reason: HoltError) {
    super(reason.message, { cause: reason });
    this.reason = reason;
  }
}

const BEGIN = {
  write: "begin isolation level read committed read write",
  snapshot: "begin isolation level repeatable read read only",
};
const NO_OUTCOME = "the database did not answer; nothing was changed";
const UNKNOWN_OUTCOME = "the database did not confirm the change, which may or may not have taken effect; read before you repeat it";
const PROBE = "insert into server_state (name, value) values ($1, $2) on conflict (name) do update set value = excluded.value";
