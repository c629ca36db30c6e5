/**
 * Keeps a second server from using a data folder: its writes would make the first server's cache of rights stale.
 */
import { chmodSync } from "node:fs";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { createFolders } from "../lib/create-folders.ts";
import { createPrivateFile } from "./private-file.ts";
import { isBusy } from "./sqlite-connection.ts";

/** Also takes the rights of other users from a file that an earlier version left readable for all. */
function createLockFile(path: string): void {
  if (createPrivateFile(path)) return;
  try {
    chmodSync(path, 0o600);
  } catch {
    // Another user owns the file, and opening it says whether this one may use it.
  }
}

/**
 * Locks the folder until the lock is disposed or the process ends, even by a crash. It uses SQLite's file lock, since
 * node has no other. Short-lived commands that run alongside the server do not take the lock.
 * @param remedy what to do if another server holds the lock
 * @throws Error for the operator if another server holds the lock or the folder is unusable
 */
export function lockDataFolder(dataDir: string, remedy: string): Disposable {
  let database: DatabaseSync | undefined;
  try {
    createFolders(dataDir);
    const path = join(dataDir, "server.lock");
    createLockFile(path);
    database = new DatabaseSync(path);
    database.exec("begin exclusive");
  } catch (error) {
    database?.close();
    if (isBusy(error)) throw new Error(`another holtd serves the data in ${dataDir}; ${remedy}`);
    throw new Error(`cannot use the data folder ${dataDir}: ${(error as Error).message}`, { cause: error });
  }
  const locked = database;
  return { [Symbol.dispose]: () => locked.close() };
}
