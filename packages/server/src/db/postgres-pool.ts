/** A pool of connections to PostgreSQL that discards those that are broken or have probably gone silent. */
import pg from "pg";
import { type HoltError, unavailable } from "../lib/errors.ts";
import type { Log } from "../lib/log.ts";
import { destroyConnection } from "./postgres-connection.ts";
import type { PostgresHosts } from "./postgres-hosts.ts";
import { isBroken } from "./postgres-statements.ts";
import { type Watchdog, withTimeout } from "./postgres-watchdog.ts";
import type { PoolUsage } from "./store.ts";
import { RETRY_AFTER_SECONDS } from "./transaction.ts";

export interface PoolParts {
  readonly hosts: PostgresHosts;
  readonly log: Log;
  readonly watchdog: Watchdog;
}

/** The driver reads 64-bit integers as strings. Those of Holt are far below 2^53, so numbers are exact. */
const TYPES = {
  getTypeParser: (oid: number, format: "text") => (oid === pg.types.builtins.INT8 ? Number : pg.types.getTypeParser(oid, format)),
};

// Shorter than the watchdog's limit of 30 seconds, so that the database itself ends a statement where it still can.
const SETTINGS = ["statement_timeout = '28s'", "lock_timeout = '10s'", "idle_in_transaction_session_timeout = '60s'"];

/** The transaction did not begin, and may begin on another connection. */
export class NotBegun extends Error {
  readonly reason: HoltError;

  constructor(reason: HoltError) {
    super(reason.message, { cause: reason });
    this.reason = reason;
  }
}

export class PostgresPool implements AsyncDisposable {
  readonly #pool: pg.Pool;
  readonly #parts: PoolParts;

  /** @param settings of the database for each connection, as `name = value` */
  constructor(parts: PoolParts, max: number, ...settings: string[]) {
    this.#pool = createPool(parts, max, settings);
    this.#parts = parts;
  }

  /** Takes another connection if one was closed while it was idle, which shows when a transaction begins. All may be closed. */
  async useForTransaction<T>(work: (client: pg.PoolClient) => Promise<T>): Promise<T> {
    for (let tries = 1; ; tries++) {
      try {
        return await this.use(work);
      } catch (error) {
        if (!(error instanceof NotBegun)) throw error;
        if (tries > this.#pool.options.max) throw error.reason;
      }
    }
  }

  async use<T>(work: (client: pg.PoolClient) => Promise<T>): Promise<T> {
    const client = await this.#connect().catch((error: unknown) => {
      this.#parts.hosts.doubt();
      throw this.#pool.ending
        ? unavailable("the server is shutting down")
        : unavailable("cannot connect to the database", { cause: error, retryAfterSeconds: RETRY_AFTER_SECONDS });
    });
    try {
      return await work(client);
    } finally {
      if (isBroken(client)) {
        destroyConnection(client);
        this.#parts.hosts.doubt();
      }
      client.release(isBroken(client));
    }
  }

  /** Discards idle connections that have probably gone silent. */
  async #connect(): Promise<pg.PoolClient> {
    const { hosts, watchdog } = this.#parts;
    if (!hosts.isKnown) await hosts.find();
    for (;;) {
      const client = await this.#pool.connect();
      if (!watchdog.isStale(client)) return client;
      destroyConnection(client);
      client.release(true);
    }
  }

  usage(pool: PoolUsage["pool"]): PoolUsage {
    const { totalCount: open, idleCount: idle, waitingCount: waiting } = this.#pool;
    return { pool, open, idle, waiting };
  }

  /** Waits until all connections are released. */
  async [Symbol.asyncDispose](): Promise<void> {
    await this.#pool.end();
  }
}

function createPool({ hosts, log, watchdog }: PoolParts, max: number, settings: readonly string[]): pg.Pool {
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
