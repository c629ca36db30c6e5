/** Finds the programs of this machine, for tests that need one of them. */
import { accessSync, constants } from "node:fs";
import { delimiter, join } from "node:path";

export function hasProgram(name: string): boolean {
  return findProgram(name) !== undefined;
}

/** @returns its path */
export function findProgram(name: string): string | undefined {
  const folders = (process.env.PATH ?? "").split(delimiter);
  return folders.map((folder) => join(folder, name)).find(isExecutable);
}

function isExecutable(path: string): boolean {
  try {
    accessSync(path, constants.X_OK);
    return true;
  } catch {
    return false;
  }
}
