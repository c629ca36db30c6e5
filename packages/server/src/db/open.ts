/** Opens the configured store and migrates it to the current schema. sqlite.ts and postgres.ts implement the stores. */
import { existsSync } from "node:fs";
import { join } from "node:path";
import type { Log } from "../lib/log.ts";
import type { Meter } from "../lib/meter.ts";
import type { Tracer } from "../lib/tracer.ts";
import { isMigrated, type Migration, migrate } from "./migrate.ts";
import { splitPostgresUrl } from "./postgres-url.ts";
import { remedyOf } from "./remedy.ts";
import { openSqlite } from "./sqlite.ts";
import type { Store } from "./store.ts";

export interface StoreOptions {
  /** `postgres://…`, or the empty string for the file holt.db in the data folder. */
  readonly url: string;
  readonly dataDir: string;
  readonly log: Log;
  readonly migrations: readonly Migration[];
  /** Refuses a database that no server has used, which would be a mistyped setting. By default it is created. */
  readonly mustExist?: boolean;
  /** Leaves the schema as it is, for commands that work on data of an earlier program. */
  readonly keepsSchema?: boolean;
  /** SQLite: use more memory, for a process that writes in bulk. */
  readonly isForBulk?: boolean;
  /** SQLite: leave checkpoints to the archiver of the write-ahead log. */
  readonly keepsWal?: boolean;
  /** PostgreSQL: maximum number of open connections, per pool. */
  readonly readers?: number;
  readonly writers?: number;
  /** Measures statements and transactions. */
  readonly meter?: Meter | undefined;
  /** Traces them. */
  readonly tracer?: Tracer | undefined;
}

/** The file of the embedded database. */
export function sqlitePath(dataDir: string): string {
  return join(dataDir, "holt.db");
}

/** @throws Error with a message for the operator */
export async function openStore(options: StoreOptions): Promise<Store> {
  const file = sqlitePath(options.dataDir);
  if (options.url === "" && options.mustExist && !existsSync(file)) throw new MissingInstallation(options);
  const store = options.url === "" ? await openSqlite(file, options.log, options) : await openServer(withCheckedUrl(options));
  try {
    if (options.mustExist && !(await isMigrated(store))) throw new MissingInstallation(options);
    if (!options.keepsSchema) await migrate(store, options.log, options.migrations);
    return store;
  } catch (error) {
    await store[Symbol.asyncDispose]();
    if (error instanceof MissingInstallation) throw error;
    const reason =
      error instanceof Error && error.cause instanceof Error
        ? `: ${error.cause.message || String((error.cause as { code?: unknown }).code)}`
        : "";
    const place = options.url === "" ? `in ${options.dataDir}` : hostAndDatabaseOf(options.url);
    const remedy = options.url === "" ? undefined : remedyOf(error);
    throw new Error(`cannot use the database ${place}: ${(error as Error).message}${reason}${remedy === undefined ? "" : `; ${remedy}`}`, {
      cause: error,
    });
  }
}

/** Loads the driver of PostgreSQL only where it is used. */
async function openServer(options: StoreOptions): Promise<Store> {
  const { openPostgres } = await import("./postgres.ts");
  return openPostgres(options);
}

class MissingInstallation extends Error {
  constructor({ url, dataDir }: StoreOptions) {
    const [place, setting] =
      url === "" ? [`data folder ${dataDir}`, "HOLT_DATA_DIR"] : [`database ${hostAndDatabaseOf(url)}`, "HOLT_DATABASE_URL"];
    super(`there is no Holt installation in the ${place}; check ${setting}, or start the server first, which creates one`);
  }
}

function withCheckedUrl(options: StoreOptions): StoreOptions {
  const urls = splitPostgresUrl(options.url).hosts.map((host) => URL.parse(host));
  // The address may contain a password, so the message does not quote it.
  if (urls.some((url) => url === null || !["postgres:", "postgresql:"].includes(url.protocol))) {
    throw new Error("the database address must begin with postgres:// and be a valid URL; leave it empty for a file in the data folder");
  }
  return options;
}

function hostAndDatabaseOf(url: string): string {
  const urls = splitPostgresUrl(url).hosts.map((host) => new URL(host));
  return `${urls.map(({ host }) => host).join(",")}${urls[0]?.pathname}`;
}
