/**
 * Chooses the host of new connections to PostgreSQL. If the URL names several hosts, it is the one that accepts writes.
 * After a failure all hosts are asked at the same time, until one accepts writes: the primary, or a promoted standby.
 */
import { setTimeout as sleep } from "node:timers/promises";
import type { ClientBase } from "pg";
import { withConnection } from "./postgres-connection.ts";
import { splitPostgresUrl } from "./postgres-url.ts";

const PAUSE_MS = 200;
/** Rounds of a search. A later failure begins the next search. */
const MAX_ROUNDS = 50;
const IS_READ_ONLY = "select current_setting('transaction_read_only') as value";

export class PostgresHosts {
  readonly #urls: readonly string[];
  readonly #listeners = new Set<() => void>();
  #url: string;
  #isKnown: boolean;
  #search: Promise<void> | undefined;

  constructor(url: string) {
    this.#urls = splitPostgresUrl(url).hosts;
    this.#url = this.#urls[0] ?? url;
    this.#isKnown = this.#urls.length === 1;
  }

  /** The URL for a new connection, without waiting. */
  get url(): string {
    return this.#url;
  }

  /** The same after the first search, and after one that is under way. Never rejects: the connection shows what is wrong. */
  async find(): Promise<string> {
    if (!this.#isKnown) this.doubt();
    if (this.#search !== undefined) await whileAlive(this.#search);
    return this.#url;
  }

  /** Whether the first search has ended. */
  get isKnown(): boolean {
    return this.#isKnown;
  }

  /** Runs statements on a new connection to the host. Each step takes 2 s at most. */
  async withConnection<T>(use: (client: ClientBase) => Promise<T>): Promise<T> {
    return withConnection(await this.find(), use);
  }

  /** A connection failed, or its host accepts no writes: begins to look for another host. */
  doubt(): void {
    if (this.#urls.length === 1) return;
    this.#search ??= this.#findPrimary().finally(() => {
      this.#search = undefined;
    });
  }

  /** Calls back when the host has changed. @returns a function that ends it */
  onChange(listener: () => void): () => void {
    this.#listeners.add(listener);
    return () => void this.#listeners.delete(listener);
  }

  async #findPrimary(): Promise<void> {
    for (let round = 0; round < MAX_ROUNDS; round++) {
      const found = await Promise.any(this.#urls.map(writableUrl)).catch(() => undefined);
      if (found !== undefined) {
        const hasChanged = found !== this.#url;
        this.#url = found;
        this.#isKnown = true;
        if (hasChanged) for (const listener of this.#listeners) listener();
        return;
      }
      await sleep(PAUSE_MS, undefined, { ref: false });
    }
  }
}

/** Keeps the process alive for those who wait: the pauses of a search, which may outlive a stop, do not. */
async function whileAlive(search: Promise<void>): Promise<void> {
  const timer = setInterval(() => {}, PAUSE_MS);
  try {
    await search;
  } finally {
    clearInterval(timer);
  }
}

/** @returns the URL @throws if the host does not answer or accepts no writes */
function writableUrl(url: string): Promise<string> {
  return withConnection(url, async (client) => {
    const { rows } = await client.query<{ value: string }>(IS_READ_ONLY);
    if (rows[0]?.value !== "off") throw new Error("the host accepts no writes");
    return url;
  });
}

const known = new Map<string, PostgresHosts>();

/** The same for every user of the URL in this process, so that all of them follow a failover together. */
export function postgresHosts(url: string): PostgresHosts {
  const hosts = known.get(url) ?? new PostgresHosts(url);
  known.set(url, hosts);
  return hosts;
}
