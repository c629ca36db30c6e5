/** The PostgreSQL store, for any number of server processes: a pool of read-only connections and a pool that writes. */
import { setTimeout as sleep } from "node:timers/promises";
import { CompiledQuery } from "kysely";
import type pg from "pg";
import { HoltError, unavailable } from "../lib/errors.ts";
import type { Log } from "../lib/log.ts";
import { type Meter, noMeter } from "../lib/meter.ts";
import { noTracer, type Tracer } from "../lib/tracer.ts";
import { createReadHandle, type Execute } from "./handle.ts";
import { weightOf } from "./lookup.ts";
import { createObservation, type Observation } from "./observation.ts";
import { postgresDialect } from "./postgres-dialect.ts";
import { postgresHosts } from "./postgres-hosts.ts";
import { PostgresLookups } from "./postgres-lookups.ts";
import { NotBegun, type PoolParts, PostgresPool } from "./postgres-pool.ts";
import { executeOn, executePlainOn, isBroken, markBroken } from "./postgres-statements.ts";
import { createPostgresTransaction, type PostgresTransaction } from "./postgres-transaction.ts";
import { Watchdog, type WatchOptions } from "./postgres-watchdog.ts";
import type { DatabaseUsage, ReadDb, Store, TransactionOptions, WriteDb } from "./store.ts";
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
  const readOnly = new PostgresPool(parts, readers, "default_transaction_read_only = on", CUSTOM_PLANS);
  return new PostgresStore(readOnly, new PostgresPool(parts, writers), parts);
}

interface StoreParts extends PoolParts {
  readonly observation: Observation;
}

/** A range of uids may contain one row or a million, so one generic plan cannot fit all parameters. */
const CUSTOM_PLANS = "plan_cache_mode = force_custom_plan";
const PING_TIMEOUT_MS = 5000;
/** Grace period for running statements when the store is closed. */
const CLOSE_MS = 5000;

class PostgresStore implements Store {
  readonly dialect = postgresDialect;
  readonly reader: ReadDb;
  readonly #readers: PostgresPool;
  readonly #writers: PostgresPool;
  readonly #parts: StoreParts;
  readonly #lookups: PostgresLookups;
  readonly #writeHealth = new WriteHealth();

  constructor(readers: PostgresPool, writers: PostgresPool, parts: StoreParts) {
    this.#readers = readers;
    this.#writers = writers;
    this.#parts = parts;
    const { watchdog } = parts;
    this.#lookups = new PostgresLookups((work) => readers.use((client) => watchdog.watch(client, () => work(client))));
    this.reader = createReadHandle(postgresDialect, parts.observation.statements("read", this.#read));
  }

  #read: Execute = (query) =>
    retryConflicts(() =>
      weightOf(query) === undefined
        ? this.#readers.use((client) => this.#parts.watchdog.watch(client, () => executeOn(client, query)))
        : this.#lookups.execute(query),
    );

  transaction<T>(work: (db: WriteDb) => Promise<T>, options: TransactionOptions = {}): Promise<T> {
    return this.#parts.observation.transaction(work, (bound) => this.#transaction(bound, options));
  }

  #transaction<T>(work: (db: WriteDb) => Promise<T>, { hasNoTimeLimit: hasNoLimit = false }: TransactionOptions): Promise<T> {
    return retryConflicts(async () => {
      try {
        const { value, attempt, isBegun } = await this.#writers.useForTransaction(async (client) => {
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
      this.#readers.useForTransaction(async (client) => {
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
    const pools = [this.#readers.usage("read"), this.#writers.usage("write")];
    return { bytes: size.bytes, walBytes: wal?.rows[0].bytes, pools };
  }

  /** Waits until all connections are released. Closes those with a statement that takes longer. */
  async [Symbol.asyncDispose](): Promise<void> {
    const { watchdog } = this.#parts;
    const timer = setTimeout(() => watchdog.closePending(), CLOSE_MS);
    await Promise.all([this.#readers[Symbol.asyncDispose](), this.#writers[Symbol.asyncDispose]()]);
    clearTimeout(timer);
    watchdog[Symbol.dispose]();
  }
}

const BEGIN = {
  write: "begin isolation level read committed read write",
  snapshot: "begin isolation level repeatable read read only",
};
const NO_OUTCOME = "the database did not answer; nothing was changed";
const UNKNOWN_OUTCOME = "the database did not confirm the change, which may or may not have taken effect; read before you repeat it";
const PROBE = "insert into server_state (name, value) values ($1, $2) on conflict (name) do update set value = excluded.value";
