/** The SQLite store, for one server process: one connection for writes, one for reads and a few for snapshots. */
import { stat } from "node:fs/promises";
import { dirname } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { CompiledQuery } from "kysely";
import { createFolders } from "../lib/create-folders.ts";
import { unavailable } from "../lib/errors.ts";
import type { Log } from "../lib/log.ts";
import { type Meter, noMeter } from "../lib/meter.ts";
import { noTracer, type Tracer } from "../lib/tracer.ts";
import { INCREMENTAL } from "./compact-sqlite.ts";
import { createReadHandle } from "./handle.ts";
import { createObservation, type Observation } from "./observation.ts";
import { createPrivateFile } from "./private-file.ts";
import { isBusy, SqliteConnection } from "./sqlite-connection.ts";
import { sqliteDialect } from "./sqlite-dialect.ts";
import { SqliteWriter } from "./sqlite-writer.ts";
import type { DatabaseUsage, FreePages, ReadDb, Store } from "./store.ts";
import { createWalControl, type WalControl } from "./wal-control.ts";

const MAX_SNAPSHOTS = 4;
const OPEN_TIMEOUT_MS = 5000;
/**
 * Bulk writes touch pages all over large indexes. A large cache and rare checkpoints avoid rereading and rewriting
 * them.
 */
const BULK_CACHE_KIB = 96 * 1024;
const BULK_CHECKPOINT_PAGES = 24_000;
/** The write-ahead log is truncated to this size after a checkpoint. */
const MAX_WAL_BYTES = 64 * 1024 * 1024;

/** Opens the file, and creates it and its folder if necessary. Does not migrate. @throws Error for the operator */
export async function openSqlite(
  path: string,
  log: Log,
  { isForBulk = false, keepsWal = false, meter = noMeter, tracer = noTracer }: SqliteOptions = {},
): Promise<Store> {
  createFile(path);
  const observation = createObservation({ meter, tracer, dialect: sqliteDialect });
  const connection = await openForWriting(path, { isForBulk, keepsWal });
  const writer = new SqliteWriter(connection, log, observation);
  const open = (cacheKib: number) => new SqliteConnection({ path, readOnly: true, cacheKib });
  const wal = keepsWal ? createWalControl({ path, connection, writer, pin: open(64) }) : undefined;
  return new SqliteStore({ path, writer, observation, wal, reader: open(16 * 1024), openSnapshot: () => open(2 * 1024) });
}

export interface SqliteOptions {
  readonly isForBulk?: boolean | undefined;
  /** Leaves checkpoints to the caller, who archives the write-ahead log. */
  readonly keepsWal?: boolean | undefined;
  readonly meter?: Meter | undefined;
  readonly tracer?: Tracer | undefined;
}

function createFile(path: string): void {
  try {
    createFolders(dirname(path));
  } catch (error) {
    throw new Error(`cannot create the data folder ${dirname(path)}: ${(error as Error).message}`, { cause: error });
  }
  try {
    createPrivateFile(path);
  } catch (error) {
    throw new Error(`cannot write in the data folder: ${(error as Error).message}`, { cause: error });
  }
}

async function openForWriting(
  path: string,
  { isForBulk, keepsWal }: { readonly isForBulk: boolean; readonly keepsWal: boolean },
): Promise<SqliteConnection> {
  const deadline = performance.now() + OPEN_TIMEOUT_MS;
  for (;;) {
    let connection: SqliteConnection | undefined;
    try {
      connection = new SqliteConnection({ path, readOnly: false, cacheKib: isForBulk ? BULK_CACHE_KIB : 8 * 1024 });
      // The next pragma writes, and its commit would copy a long log of a server that was killed, so that nothing keeps it.
      if (keepsWal) connection.database.exec("pragma wal_autocheckpoint = 0");
      // Has an effect on a new file only, and must come first.
      connection.database.exec("pragma auto_vacuum = incremental");
      connection.database.exec(`pragma journal_mode = wal; pragma synchronous = full; pragma journal_size_limit = ${MAX_WAL_BYTES}`);
      if (isForBulk) connection.database.exec(`pragma wal_autocheckpoint = ${BULK_CHECKPOINT_PAGES}`);
      return connection;
    } catch (error) {
      connection?.[Symbol.dispose]();
      if (!isBusy(error) || performance.now() > deadline)
        throw new Error(`cannot open the database ${path}: ${(error as Error).message}`, { cause: error });
    }
    await sleep(20);
  }
}

interface SqliteParts {
  readonly path: string;
  readonly writer: SqliteWriter;
  readonly reader: SqliteConnection;
  readonly observation: Observation;
  readonly wal: (WalControl & Disposable) | undefined;
  openSnapshot(): SqliteConnection;
}

class SqliteStore implements Store {
  readonly dialect = sqliteDialect;
  readonly reader: ReadDb;
  readonly #writer: SqliteWriter;
  readonly #reader: SqliteConnection;
  readonly #parts: SqliteParts;
  /**
   * Idle snapshot connections. The reader cannot be used: it runs single statements while the work of a snapshot
   * awaits.
   */
  readonly #idle: SqliteConnection[] = [];
  readonly #waiting: (() => void)[] = [];
  readonly #running = new Set<Promise<unknown>>();
  #isClosed = false;

  constructor(parts: SqliteParts) {
    const { writer, reader, observation } = parts;
    this.#writer = writer;
    this.#reader = reader;
    this.#parts = parts;
    this.reader = createReadHandle(
      sqliteDialect,
      observation.statements("read", async (query) => reader.execute(query)),
    );
  }

  transaction: Store["transaction"] = (work) => this.#parts.observation.transaction(work, (bound) => this.#writer.transaction(bound));

  async snapshot<T>(work: (db: ReadDb) => Promise<T>): Promise<T> {
    while (this.#running.size >= MAX_SNAPSHOTS) await new Promise<void>((resolve) => this.#waiting.push(resolve));
    if (this.#isClosed) throw unavailable("the server is shutting down");
    const running = this.#runSnapshot(work);
    this.#running.add(running);
    try {
      return await running;
    } finally {
      this.#running.delete(running);
      this.#waiting.shift()?.();
    }
  }

  async #runSnapshot<T>(work: (db: ReadDb) => Promise<T>): Promise<T> {
    const connection = this.#idle.pop() ?? this.#parts.openSnapshot();
    let isOver = false;
    const execute = this.#parts.observation.statements("snapshot", async (query) => {
      if (isOver) throw new Error("this snapshot is over: its work did not await a statement");
      return connection.execute(query);
    });
    try {
      connection.database.exec("begin");
      return await work(createReadHandle(sqliteDialect, execute));
    } finally {
      isOver = true;
      connection.database.exec("rollback");
      this.#idle.push(connection);
    }
  }

  /** Undefined for a file that cannot release pages until `holtd compact` rewrites it. */
  get freePages(): FreePages | undefined {
    if (this.#pragma("auto_vacuum") !== INCREMENTAL) return undefined;
    return {
      count: async () => ({ free: this.#pragma("freelist_count"), total: this.#pragma("page_count") }),
      release: (pages) => this.#writer.exec(`pragma incremental_vacuum(${Math.floor(pages)})`),
    };
  }

  get wal(): WalControl | undefined {
    return this.#parts.wal;
  }

  async usage(): Promise<DatabaseUsage> {
    const wal = await stat(`${this.#parts.path}-wal`).catch(() => undefined);
    const bytes = this.#pragma("page_count") * this.#pragma("page_size");
    return { bytes, walBytes: wal?.size ?? 0, waitingWrites: this.#writer.waiting };
  }

  #pragma(name: "auto_vacuum" | "freelist_count" | "page_count" | "page_size"): number {
    return this.#reader.execute(CompiledQuery.raw(`pragma ${name}`)).rows[0][name] as number;
  }

  async ping(): Promise<void> {
    this.#reader.execute(CompiledQuery.raw("select 1"));
    await this.#writer.probe();
  }

  /**
   * Finishes pending work. The writer closes last: the last connection merges the write-ahead log into the file. A log that
   * is archived stays, because then a connection that cannot write closes last.
   */
  async [Symbol.asyncDispose](): Promise<void> {
    this.#isClosed = true;
    await Promise.allSettled([this.#writer.finish(), ...this.#running]);
    for (const connection of this.#idle) connection[Symbol.dispose]();
    this.#reader[Symbol.dispose]();
    await this.#writer[Symbol.asyncDispose]();
    this.#parts.wal?.[Symbol.dispose]();
  }
}
