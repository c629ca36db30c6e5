/** Reads the size and the time of a file that may be missing. */
import { stat } from "node:fs/promises";
import { codeOf } from "./storage-error.ts";

export function statFile(path: string): Promise<{ size: number; mtime: Date } | undefined> {
  return stat(path).catch((error: unknown) => {
    if (codeOf(error) !== "ENOENT") throw error;
    return undefined;
  });
}
