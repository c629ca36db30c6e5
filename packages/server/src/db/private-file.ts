/** Creates the files of SQLite, which would itself create them readable for all users. */
import { chmodSync, closeSync, openSync } from "node:fs";

const OWNER_ONLY = 0o600;

/**
 * Creates an empty file with mode 0600. Leaves an existing file alone: opening and closing it would release the locks
 * that other connections of this process hold on it.
 * @returns whether the file is new
 */
export function createPrivateFile(path: string): boolean {
  try {
    closeSync(openSync(path, "ax", OWNER_ONLY));
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "EEXIST") return false;
    throw error;
  }
  chmodSync(path, OWNER_ONLY);
  return true;
}
