/**
 * Notifies the servers that share a PostgreSQL database of changed access rights within a second, so that they
 * invalidate their caches. With SQLite there is one server, and this does nothing.
 */
import { setTimeout as sleep } from "node:timers/promises";
import type pg from "pg";
import type { Log } from "../lib/log.ts";
import type { PostgresHosts } from "./postgres-hosts.ts";
import { SERVER_SESSION, WORK_CHANNEL } from "./servers.ts";
import type { WriteDb } from "./store.ts";

const CHANNEL = "holt_access";
/** The identity_uid of a change that affects all identities. */
const ALL_IDENTITIES = "*";

/**
 * Notifies the other servers, when this transaction commits, that the rights of these identities (`*` for all) change.
 */
export async function appendAccessChange(db: WriteDb, identityUids: readonly string[] | "*"): Promise<void> {
  const { notify, valuesOf } = db.dialect;
  const uids = identityUids === "*" ? [ALL_IDENTITIES] : identityUids;
  if (notify === undefined || uids.length === 0) return;
  await db
    .insertInto("access_change")
    .columns(["identity_uid"])
    .expression(db.selectFrom(valuesOf(uids).as("v")).select("v.value"))
    .execute();
  await notify(CHANNEL).execute(db);
}

export interface AccessChangeOptions {
  readonly url: string;
  readonly log: Log;
  /**
   * Must not throw. May be called more than once for the same change. A cache must discard rights that it began to read
   * before this call.
   */
  onChange(identityUids: readonly string[] | "*"): void;
  /** Called when a server, also this one, has made work (`notifyServers`). Must not throw. */
  onWork?(): void;
  /** The time between two polls without a notification; default 400. */
  readonly pollMs?: number;
}

const POLL_MS = 400;
const CURRENT_MS = 1000;
const PRUNE_MS = 10 * 60_000;

/**
 * Reads the changes that were committed since the last poll. Times and sequence numbers are assigned before the commit,
 * so a slow transaction could commit behind a cursor that is already past it. Transaction ids avoid this:
 * `pg_snapshot_xmin` is the oldest transaction that still runs during a poll. The next poll reads all rows from that
 * transaction on, which includes every late commit. Rows and cursor come from one statement, hence one snapshot.
 * `#seen` removes the duplicates.
 */
const POLL = `
  select pg_snapshot_xmin(pg_current_snapshot())::text as xmin,
    coalesce((select json_agg(json_build_array(seq, identity_uid)) from access_change where tx >= $1::xid8), '[]') as changes`;
const PRUNE = `delete from access_change where create_time < to_char(now() at time zone 'UTC' - interval '1 hour', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"')`;
/** Greater than any transaction id, so the first poll reads no rows. */
const MAX_XID = "18446744073709551615";

export class AccessChangeListener implements AsyncDisposable {
  readonly #options: AccessChangeOptions;
  readonly #running: Promise<void>;
  #client: pg.Client | undefined;
  #hosts: PostgresHosts | undefined;
  #wake: () => void = () => {};
  #isNotified = false;
  #isClosed = false;
  /** The cursor: `pg_snapshot_xmin` of the last poll; undefined before the first poll of a connection. */
  #xmin: string | undefined;
  /** Sequence numbers that the last poll read. */
  #seen = new Set<number>();
  /** Start of the last successful poll, by performance.now(). */
  #polledAt = Number.NEGATIVE_INFINITY;
  #prunedAt = Number.NEGATIVE_INFINITY;

  /** Starts to listen, and reconnects until it is disposed. */
  constructor(options: AccessChangeOptions) {
    this.#options = options;
    this.#running = this.#run();
  }

  /**
   * Whether all changes that were committed until one second ago were delivered. If not, caches of rights must not be
   * used.
   */
  isCurrent(): boolean {
    return performance.now() - this.#polledAt < CURRENT_MS;
  }

  async #run(): Promise<void> {
    for (let pause = 100; !this.#isClosed; pause = Math.min(pause * 2, 2000)) {
      try {
        await this.#listen(() => {
          pause = 50;
        });
      } catch (error) {
        if (this.#isClosed) return;
        this.#hosts?.doubt();
        this.#options.log.warn({ err: error }, "lost the connection that listens for changed access rights");
      }
      await this.#sleep(pause * (0.5 + Math.random()));
    }
  }

  /** Resolves only when closed, and rejects when the connection is lost. */
  async #listen(onPoll: () => void): Promise<void> {
    // Commands and servers on SQLite do not need the driver.
    const { default: driver } = await import("pg");
    const { postgresHosts } = await import("./postgres-hosts.ts");
    this.#hosts = postgresHosts(this.#options.url);
    const connectionString = await this.#hosts.find();
    if (this.#isClosed) return;
    const client = new driver.Client({
      connectionString,
      application_name: "holt",
      connectionTimeoutMillis: 2000,
      query_timeout: 2000,
      keepAlive: true,
    });
    this.#client = client;
    // The database may have been restored or failed over, so the first poll reports a change of all identities.
    this.#xmin = undefined;
    // Ends the pause when the connection is lost; the next poll then fails.
    client.on("error", () => this.#notify());
    client.on("notification", ({ channel }) => (channel === WORK_CHANNEL ? this.#options.onWork?.() : this.#notify()));
    try {
      await client.connect();
      await client.query(`listen ${CHANNEL}`);
      await client.query(`listen ${WORK_CHANNEL}`);
      // A statement, because the address can override the name.
      await client.query(`set application_name = '${SERVER_SESSION}'`);
      while (!this.#isClosed) {
        this.#isNotified = false;
        await this.#poll(client);
        onPoll();
        // A notification during the poll may announce rows that the poll did not see.
        if (!this.#isNotified) await this.#sleep(this.#options.pollMs ?? POLL_MS);
      }
    } finally {
      await end(client);
    }
  }

  async #poll(client: pg.Client): Promise<void> {
    const begin = performance.now();
    const { rows } = await client.query<{ xmin: string; changes: [number, string][] }>({
      name: "poll",
      text: POLL,
      values: [this.#xmin ?? MAX_XID],
    });
    const { xmin, changes } = rows[0]!;
    const fresh = changes.filter(([seq]) => !this.#seen.has(seq)).map(([, uid]) => uid);
    if (this.#xmin === undefined || fresh.includes(ALL_IDENTITIES)) this.#options.onChange("*");
    else if (fresh.length > 0) this.#options.onChange([...new Set(fresh)]);
    this.#xmin = xmin;
    this.#seen = new Set(changes.map(([seq]) => seq));
    this.#polledAt = begin;
    if (begin - this.#prunedAt > PRUNE_MS) {
      this.#prunedAt = begin;
      await client.query(PRUNE);
    }
  }

  #notify(): void {
    this.#isNotified = true;
    this.#wake();
  }

  async #sleep(ms: number): Promise<void> {
    const woken = new AbortController();
    this.#wake = () => woken.abort();
    if (this.#isClosed) return;
    await sleep(ms, undefined, { signal: woken.signal }).catch(() => {});
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#isClosed = true;
    this.#polledAt = Number.NEGATIVE_INFINITY;
    this.#wake();
    // Makes pending queries fail.
    if (this.#client !== undefined) await end(this.#client);
    await this.#running;
  }
}

/** Closes the connection, and waits at most a second, since the other side may be unreachable. */
async function end(client: pg.Client): Promise<void> {
  await Promise.race([client.end().catch(() => {}), sleep(1000, undefined, { ref: false })]);
}
