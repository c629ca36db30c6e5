/** How servers that share a PostgreSQL learn within a second whose rights changed, for their caches. One server alone needs nothing of this. */
import { setTimeout as sleep } from "node:timers/promises";
import pg from "pg";
import type { Log } from "../lib/log.ts";
import type { WriteDb } from "./store.ts";

const CHANNEL = "holt_access";
/** Stands for everybody in the table. */
const EVERYBODY = "*";

/** Tells the other servers, once this transaction commits, whose rights it changes: of these identities or, with `*`, of everybody. */
export async function appendAccessChange(db: WriteDb, identityUids: readonly string[] | "*"): Promise<void> {
  const { notify, valuesOf } = db.dialect;
  const uids = identityUids === "*" ? [EVERYBODY] : identityUids;
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
  /** Must not throw. May be told the same change more than once. Whoever reads rights into a cache must drop what it read if this was called meanwhile. */
  onChange(identityUids: readonly string[] | "*"): void;
}

const POLL_MS = 400;
const CURRENT_MS = 1000;
const PRUNE_MS = 10 * 60_000;

/**
 * What was committed since the last poll. Neither times nor sequence numbers can tell: both are taken before the commit, so a slow transaction appears
 * behind a mark that has already moved past it. Transaction ids can. `pg_snapshot_xmin` of the last poll is the oldest transaction that was still running
 * then. All below it were finished, so the last poll saw their rows; every row of those at or above it is read again, which finds each late commit.
 * The rows and the new mark come from one statement, hence one snapshot. What is read twice is known by its number.
 */
const POLL = `
  select pg_snapshot_xmin(pg_current_snapshot())::text as xmin,
    coalesce((select json_agg(json_build_array(seq, identity_uid)) from access_change where tx >= $1::xid8), '[]') as changes`;
const PRUNE = `delete from access_change where create_time < to_char(now() at time zone 'UTC' - interval '1 hour', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"')`;
/** Above any transaction: a first poll has nothing to read. */
const MAX_XID = "18446744073709551615";

export class AccessChangeListener implements AsyncDisposable {
  readonly #options: AccessChangeOptions;
  readonly #running: Promise<void>;
  #client: pg.Client | undefined;
  #wake: () => void = () => {};
  #isNotified = false;
  #isClosed = false;
  #xmin: string | undefined;
  #seen = new Set<number>();
  /** When the last successful poll began, on the clock of performance.now(). */
  #polledAt = Number.NEGATIVE_INFINITY;
  #prunedAt = Number.NEGATIVE_INFINITY;

  /** Starts to listen; keeps trying until it is disposed of. */
  constructor(options: AccessChangeOptions) {
    this.#options = options;
    this.#running = this.#run();
  }

  /** Whether everything that was committed until a second ago has been delivered. A cache of rights must not be used otherwise. */
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
        this.#options.log.warn({ err: error }, "lost the connection that tells of changed rights");
      }
      await this.#sleep(pause * (0.5 + Math.random()));
    }
  }

  /** Returns only when closed; throws when the connection is lost. */
  async #listen(onPoll: () => void): Promise<void> {
    const client = new pg.Client({
      connectionString: this.#options.url,
      application_name: "holt",
      connectionTimeoutMillis: 2000,
      query_timeout: 2000,
      keepAlive: true,
    });
    this.#client = client;
    // It may be another server by now, restored or failed over to: what was missed cannot be known, so it is everything.
    this.#xmin = undefined;
    // Waiting ends when the connection does; the next poll then fails.
    client.on("error", () => this.#notify());
    client.on("notification", () => this.#notify());
    try {
      await client.connect();
      await client.query(`listen ${CHANNEL}`);
      while (!this.#isClosed) {
        this.#isNotified = false;
        await this.#poll(client);
        onPoll();
        // A notification that came during the poll may be of what the poll could not see.
        if (!this.#isNotified) await this.#sleep(POLL_MS);
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
    if (this.#xmin === undefined || fresh.includes(EVERYBODY)) this.#options.onChange("*");
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
    // Ends whatever it waits for on the connection.
    if (this.#client !== undefined) await end(this.#client);
    await this.#running;
  }
}

/** Says goodbye, but does not wait for long for somebody who may not be there any more. */
async function end(client: pg.Client): Promise<void> {
  await Promise.race([client.end().catch(() => {}), sleep(1000, undefined, { ref: false })]);
}
