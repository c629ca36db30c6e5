/** What all readers of published archives share: how they read the staged bytes, and limits that exceed the largest real packages. */
import { buffer } from "node:stream/consumers";
import type { ArchiveLimits } from "../archives/limits.ts";
import { RandomAccessBytes } from "../archives/random-access-bytes.ts";
import type { Staged, Staging } from "./stage.ts";

/** Limits of wheels and source distributions. Their tools write slashes on every system. */
export const PYTHON_LIMITS: ArchiveLimits = {
  maxEntries: 200_000,
  freeBytes: 64 * 1024 * 1024,
  maxRatio: 50,
  paths: { backslash: "refused" },
};

/** A jar is not expanded: only one entry is read, and that has a limit of its own. */
export const JAR_LIMITS: ArchiveLimits = {
  maxEntries: 200_000,
  freeBytes: Number.POSITIVE_INFINITY,
  maxRatio: 1,
  paths: { backslash: "separator" },
};

/** The staged bytes in place, for archives that are read from their directory. */
export function stagedBytes(staged: Staged, staging: Pick<Staging, "read">): RandomAccessBytes {
  return new RandomAccessBytes(
    async (start, length) => buffer(await staging.read(staged, { start, end: start + length - 1 })),
    staged.size,
  );
}
