/** Opens the store that a configuration names and brings its schema up to date; the stores themselves are in sqlite.ts and postgres.ts. */
import { join } from "node:path";
import type { Log } from "../lib/log.ts";
import { type Migration, migrate } from "./migrate.ts";
import { openPostgres } from "./postgres.ts";
import { openSqlite } from "./sqlite.ts";
import type { Store } from "./store.ts";

export interface StoreOptions {
  /** `postgres://…`, or the empty string for the file holt.db in the data folder. */
  readonly url: string;
  readonly dataDir: string;
  readonly log: Log;
  readonly migrations: readonly Migration[];
  /** SQLite: whether this process is here to write a lot, and may use more memory for it. */
  readonly isForBulk?: boolean;
  /** PostgreSQL: how many connections may be open at most. */
  readonly readers?: number;
  readonly writers?: number;
}

/** @throws Error with a message for the operator */
export async function openStore(options: StoreOptions): Promise<Store> {
  const store =
    options.url === ""
      ? await openSqlite(join(options.dataDir, "holt.db"), options.log, options.isForBulk)
      : openPostgres(withCheckedUrl(options));
  try {
    await migrate(store, options.log, options.migrations);
    return store;
  } catch (error) {
    await store[Symbol.asyncDispose]();
    const reason =
      error instanceof Error && error.cause instanceof Error
        ? `: ${error.cause.message || String((error.cause as { code?: unknown }).code)}`
        : "";
    throw new Error(
      `cannot use the database ${options.url === "" ? `in ${options.dataDir}` : placeOf(options.url)}: ${(error as Error).message}${reason}`,
      { cause: error },
    );
  }
}

function withCheckedUrl(options: StoreOptions): StoreOptions {
  const url = URL.parse(options.url);
  // The address itself stays out of the message: it may hold a password.
  if (url === null || !["postgres:", "postgresql:"].includes(url.protocol)) {
    throw new Error("the database address must begin with postgres:// and be a valid URL; leave it empty for a file in the data folder");
  }
  return options;
}

function placeOf(url: string): string {
  const { host, pathname } = new URL(url);
  return `${host}${pathname}`;
}
