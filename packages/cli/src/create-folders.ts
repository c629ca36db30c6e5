/** Creates the folders of a file that a command writes. */
import { existsSync, mkdirSync } from "node:fs";
import { dirname } from "node:path";

/**
 * Creates a folder and those above it. Unlike `mkdir` of Node with `recursive`, it ends where a file system refuses a new
 * folder with ENOENT, as `/proc` does.
 */
export function createFolders(path: string, mode?: number): void {
  if (existsSync(path)) return;
  createFolders(dirname(path), mode);
  try {
    mkdirSync(path, mode);
  } catch (error) {
    // Another command may have created it meanwhile.
    if (!existsSync(path)) throw error;
  }
}
