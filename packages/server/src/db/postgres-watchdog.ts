/**
 * Closes PostgreSQL connections that no longer answer, so that their statements fail and the pools replace them.
 *
 * A connection can go silent without being closed: its server died, or a firewall forgot it. TCP notices after many
 * minutes. The watchdog asks the database over a new connection whether it still works on the statement. While the
 * database cannot be reached at all, statements wait for at most `STATEMENT_MS`.
 */
import type pg from "pg";
import type { ClientBase } from "pg";
import type { Log } from "../lib/log.ts";
import { destroyConnection, socketOf } from "./postgres-connection.ts";
import type { PostgresHosts } from "./postgres-hosts.ts";

/** Longest time for an answer to a statement. The database's own limit is shorter, so that it usually answers. */
const STATEMENT_MS = 30_000;
/** After this time without a byte from the database, the watchdog asks about the statement. */
const SILENT_MS = 3_000;
const TICK_MS = 1_000;

/** A statement that has not been answered yet. */
interface Pending {
  readonly begin: number;
  readonly hasNoLimit: boolean;
  bytesRead: number;
  heardAt: number;
  /** Whether the last check found that the database does not work on it. A second one confirms it. */
  isSuspect: boolean;
}

/** A session of the database. The start distinguishes processes with the same id, also of two database servers. */
interface Session {
  readonly pid: number;
  readonly start: string;
}

const SESSION = "select pid, backend_start::text as start from pg_stat_activity where pid = pg_backend_pid()";
/** A session that waits for its client cannot answer unless bytes arrive. */
const WORKING = `select pid, backend_start::text as start from pg_stat_activity
  where pid = any($1::int[]) and state = 'active' and wait_event_type is distinct from 'Client'`;

export interface WatchOptions {
  /** For migrations: only the database decides how long the statement may take. */
  readonly hasNoLimit?: boolean;
}

export class Watchdog implements Disposable {
  readonly #hosts: PostgresHosts;
  readonly #unsubscribe: () => void;
  readonly #log: Log;
  readonly #pending = new Map<ClientBase, Pending>();
  readonly #sessions = new WeakMap<ClientBase, Session>();
  readonly #closed = new WeakSet<ClientBase>();
  /** When each connection last answered, by performance.now(). */
  readonly #answeredAt = new WeakMap<ClientBase, number>();
  /** Idle connections that have not answered since then are not trusted. */
  #trustedSince = Number.NEGATIVE_INFINITY;
  #isChecking = false;
  readonly #timer: NodeJS.Timeout;

  constructor(hosts: PostgresHosts, log: Log) {
    this.#hosts = hosts;
    this.#unsubscribe = hosts.onChange(() => this.#leaveHost());
    this.#log = log;
    this.#timer = setInterval(() => this.#tick(performance.now()), TICK_MS).unref();
  }

  /** Prepares a new connection. */
  async introduce(client: ClientBase): Promise<void> {
    const { rows } = await client.query<Session>(withTimeout(SESSION));
    this.#sessions.set(client, rows[0]!);
    this.#answeredAt.set(client, performance.now());
  }

  /** Runs a statement, which fails with a lost connection if the connection goes silent. */
  async watch<T>(client: ClientBase, statement: () => Promise<T>, { hasNoLimit = false }: WatchOptions = {}): Promise<T> {
    const begin = performance.now();
    this.#pending.set(client, { begin, heardAt: begin, hasNoLimit, bytesRead: socketOf(client).bytesRead, isSuspect: false });
    try {
      return await statement();
    } finally {
      this.#pending.delete(client);
      this.#answeredAt.set(client, performance.now());
    }
  }

  /** Whether the connection was idle while another one went silent, so that it has probably gone silent, too. */
  isStale(client: ClientBase): boolean {
    return (this.#answeredAt.get(client) ?? 0) < this.#trustedSince;
  }

  /** Whether the connection went silent. */
  hasClosed(client: ClientBase): boolean {
    return this.#closed.has(client);
  }

  /** Another host accepts the writes now: nothing that the former one answers counts. */
  #leaveHost(): void {
    this.#log.warn("another host of the database accepts writes now");
    this.closePending();
    this.#trustedSince = performance.now();
  }

  /** Closes all connections with a pending statement. */
  closePending(): void {
    for (const [client, pending] of this.#pending) this.#close(client, pending);
  }

  #tick(now: number): void {
    const silent = new Map<ClientBase, Pending>();
    for (const [client, pending] of this.#pending) {
      const { bytesRead } = socketOf(client);
      if (bytesRead !== pending.bytesRead) Object.assign(pending, { bytesRead, heardAt: now, isSuspect: false });
      if (!pending.hasNoLimit && now - pending.begin > STATEMENT_MS - TICK_MS) this.#close(client, pending);
      else if (now - pending.heardAt > SILENT_MS) silent.set(client, pending);
    }
    if (silent.size === 0 || this.#isChecking) return;
    this.#isChecking = true;
    void this.#check(silent)
      .catch((err: unknown) => this.#log.debug({ err }, "cannot ask the database about silent connections"))
      .finally(() => {
        this.#isChecking = false;
      });
  }

  async #check(silent: ReadonlyMap<ClientBase, Pending>): Promise<void> {
    const pids = [...silent.keys()].flatMap((client) => this.#sessions.get(client)?.pid ?? []);
    const working = await this.#hosts.withConnection(async (client) => (await client.query<Session>(WORKING, [pids])).rows);
    for (const [client, pending] of silent) {
      const session = this.#sessions.get(client);
      const isWorking = working.some(({ pid, start }) => pid === session?.pid && start === session.start);
      const isUnchanged = this.#pending.get(client) === pending && socketOf(client).bytesRead === pending.bytesRead;
      if (!isUnchanged) continue;
      if (pending.isSuspect && !isWorking) this.#close(client, pending);
      pending.isSuspect = !isWorking;
    }
  }

  #close(client: ClientBase, { begin }: Pending): void {
    this.#log.warn({ ms: Math.round(performance.now() - begin) }, "closed a database connection that does not answer");
    this.#trustedSince = Math.max(this.#trustedSince, begin);
    this.#closed.add(client);
    destroyConnection(client);
  }

  [Symbol.dispose](): void {
    clearInterval(this.#timer);
    this.#unsubscribe();
  }
}

/** The query as the driver takes it, with a limit of its own. */
export function withTimeout(text: string): pg.QueryConfig {
  return { text, query_timeout: 5_000 } as pg.QueryConfig;
}
