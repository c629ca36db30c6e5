/** An SQLite database whose write-ahead log is archived in a folder. */
import assert from "node:assert/strict";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { sql } from "kysely";
import { openFolderTarget } from "../../src/backup/folder-target.ts";
import type { BackupTarget } from "../../src/backup/target.ts";
import { readArchiveState } from "../../src/backup/wal-archive/archive-state.ts";
import { planRestore, restoreDatabase } from "../../src/backup/wal-archive/restore-point.ts";
import { WalArchiver, type WalArchiverOptions } from "../../src/backup/wal-archive/wal-archiver.ts";
import { openSqlite } from "../../src/db/sqlite.ts";
import { problemsOfSqlite } from "../../src/db/sqlite-copy.ts";
import type { Store } from "../../src/db/store.ts";
import type { WalControl } from "../../src/db/wal-control.ts";
import { createLog } from "../../src/lib/log.ts";
import { createManualClock, type ManualClock } from "./manual-clock.ts";
import { until } from "./wait.ts";

const log = createLog("silent");
export const SECOND_MS = 1000;
export const HOUR_MS = 3_600_000;

interface Place extends AsyncDisposable {
  readonly folder: string;
  readonly path: string;
  readonly clock: ManualClock;
  readonly target: BackupTarget;
}

export async function createPlace(): Promise<Place> {
  const folder = await mkdtemp(join(tmpdir(), "holt-wal-"));
  const target = await openFolderTarget(join(folder, "archive"), "write");
  const path = join(folder, "holt.db");
  return { folder, path, clock: createManualClock(), target, [Symbol.asyncDispose]: () => rm(folder, { recursive: true }) };
}

/** The target of a place. Its writes fail while the condition is false. */
export function targetWhile({ target }: Place, isReachable: () => boolean): BackupTarget {
  return {
    ...target,
    async write(path, content) {
      if (isReachable()) return target.write(path, content);
      content.destroy();
      throw new Error("unreachable");
    },
  };
}

interface Running extends AsyncDisposable {
  readonly store: Store;
  readonly archiver: WalArchiver;
}

/** @param prepare gets the control of the log before the archiver does */
export async function run(
  place: Place,
  options: Partial<WalArchiverOptions> = {},
  prepare = (_wal: WalControl): void => {},
): Promise<Running> {
  const { folder: dataDir, path, clock, target } = place;
  await using stack = new AsyncDisposableStack();
  const store = stack.use(await openSqlite(path, log, { keepsWal: true }));
  const { wal } = store;
  assert.ok(wal);
  prepare(wal);
  await write(store, "create table if not exists note (id integer primary key, text text)");
  const common = { target, wal, dataDir, clock, log, version: "0", schema: 1, retentionMs: 1000 * HOUR_MS };
  const archiver = stack.use(await WalArchiver.start({ ...common, ...options }));
  const owned = stack.move();
  return { store, archiver, [Symbol.asyncDispose]: () => owned.disposeAsync() };
}

export async function write(store: Store, statement: string): Promise<void> {
  await store.transaction((db) => sql.raw(statement).execute(db));
}

export async function insert(store: Store, rows: number): Promise<void> {
  for (let i = 0; i < rows; i++) await write(store, "insert into note (text) values (hex(randomblob(3000)))");
}

/** Everything is in the archive, and a base. */
export async function archived({ target, path }: Place, { archiver }: Running): Promise<void> {
  await until(async () => archiver.baseSeconds() !== undefined && (await readArchiveState(target, path)).isCurrent);
}

export function rowsOf(path: string): unknown[] {
  using database = new DatabaseSync(path, { readOnly: true });
  return database.prepare("select id, text from note order by id").all();
}

export async function restoredRows({ target, folder }: Place, at: number): Promise<unknown[]> {
  const path = join(folder, "restored.db");
  await restoreDatabase(target, await planRestore(target, at), path, () => {});
  assert.deepEqual(problemsOfSqlite(path), []);
  const rows = rowsOf(path);
  await rm(path);
  return rows;
}
