/** Copies an SQLite database while a server writes to it, and reads what a copy says about itself. */
import { backup, DatabaseSync } from "node:sqlite";
import { createPrivateFile } from "./private-file.ts";

/** Pages of 4 KiB per step. The event loop runs between two steps. */
const PAGES_PER_STEP = 2000;

/** A state of the database, pinned by a read transaction: without it, each write would make a copy begin again. */
export interface PinnedSqlite extends Disposable {
  /**
   * Writes the state to a new file.
   * @param onProgress receives the copied part, from 0 to 1
   */
  copyTo(path: string, onProgress: (part: number) => void): Promise<void>;
}

/** Pins the present state. */
export function pinSqlite(path: string): PinnedSqlite {
  const database = new DatabaseSync(path, { readOnly: true, timeout: 5000 });
  database.exec("begin");
  database.prepare("select count(*) from sqlite_schema").get();
  return {
    async copyTo(to, onProgress) {
      createPrivateFile(to);
      await backup(database, to, {
        rate: PAGES_PER_STEP,
        progress: ({ remainingPages, totalPages }) => onProgress(totalPages === 0 ? 1 : 1 - remainingPages / totalPages),
      });
    },
    [Symbol.dispose]: () => database.close(),
  };
}

/** The problems that SQLite finds in a file: damaged pages and rows that refer to missing rows. */
export function problemsOfSqlite(path: string): string[] {
  using database = new DatabaseSync(path, { readOnly: true, timeout: 5000 });
  const damage = database.prepare("pragma integrity_check(20)").all() as { integrity_check: string }[];
  const dangling = database.prepare("pragma foreign_key_check").all() as { table: string; rowid: number; parent: string }[];
  return [
    ...damage.map((row) => row.integrity_check).filter((text) => text !== "ok"),
    ...dangling.slice(0, 20).map(({ table, parent }) => `a row of ${table} refers to a missing row of ${parent}`),
  ];
}

/** Runs a query on a file that no server uses, such as a copy. */
export function* readSqlite<Row>(path: string, query: string): Generator<Row> {
  using database = new DatabaseSync(path, { readOnly: true, timeout: 5000 });
  for (const row of database.prepare(query).iterate()) yield row as Row;
}
