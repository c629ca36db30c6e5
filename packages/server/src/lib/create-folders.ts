/** Creates folders that an operator names. */
import { mkdirSync, statSync } from "node:fs";
import { dirname } from "node:path";

/**
 * Creates a folder and those above it, for their owner only. Leaves an existing folder as it is. Unlike `mkdir` of Node with `recursive`,
 * it ends where a file system refuses a new folder with ENOENT, as `/proc` does.
 */
export function createFolders(path: string): void {
  try {
    mkdirSync(path, { mode: 0o700 });
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (isFolder(path)) return;
    const parent = dirname(path);
    if (code !== "ENOENT" || isFolder(parent)) throw error;
    createFolders(parent);
    createFolders(path);
  }
}

function isFolder(path: string): boolean {
  return statSync(path, { throwIfNoEntry: false })?.isDirectory() ?? false;
}
