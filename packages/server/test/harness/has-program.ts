/** Tells which programs this machine has, for tests that need one of them. */
import { accessSync, constants } from "node:fs";
import { delimiter, join } from "node:path";

export function hasProgram(name: string): boolean {
  return (process.env.PATH ?? "").split(delimiter).some((folder) => isExecutable(join(folder, name)));
}

function isExecutable(path: string): boolean {
  try {
    accessSync(path, constants.X_OK);
    return true;
  } catch {
    return false;
  }
}
