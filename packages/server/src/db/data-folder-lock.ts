/** Keeps a second server off a data folder: what one server has cached of rights, another one's writes would make wrong without its knowing. */
import { mkdirSync } from "node:fs";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { isBusy } from "./sqlite-connection.ts";

/**
 * Held until it is disposed of or the process ends, however that happens: it is a file lock, and SQLite's are the ones that
 * node has. The small commands beside the server do not take it.
 * @throws Error where another server holds it, or the folder cannot be used
 */
export function lockDataFolder(dataDir: string): Disposable {
  let database: DatabaseSync | undefined;
  try {
    mkdirSync(dataDir, { recursive: true, mode: 0o700 });
    database = new DatabaseSync(join(dataDir, "server.lock"));
    database.exec("begin exclusive");
  } catch (error) {
    database?.close();
    if (isBusy(error))
      throw new Error(
        `another holtd serves the data in ${dataDir}. SQLite is for one server; give this one a HOLT_DATA_DIR of its own, or share a PostgreSQL`,
      );
    throw new Error(`cannot use the data folder ${dataDir}: ${(error as Error).message}`, { cause: error });
  }
  const locked = database;
  return { [Symbol.dispose]: () => locked.close() };
}
