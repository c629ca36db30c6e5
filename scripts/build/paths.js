// Places and facts that the scripts of the build share.
import { execFileSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";

export const root = join(dirname(fileURLToPath(import.meta.url)), "../..");

export const { version } = JSON.parse(readFileSync(join(root, "packages/server/package.json"), "utf8"));

/** Seconds since 1970 that all files of a release carry: SOURCE_DATE_EPOCH, or the time of the commit. */
export function sourceDate() {
  if (process.env.SOURCE_DATE_EPOCH !== undefined) return Number(process.env.SOURCE_DATE_EPOCH);
  return Number(execFileSync("git", ["log", "-1", "--format=%ct"], { cwd: root, encoding: "utf8" }));
}
