/** Reads published archives, under limits that exceed the largest real packages. */
import { open } from "node:fs/promises";
import type { ArchiveLimits } from "../archives/limits.ts";
import { fileBytes, type RandomAccessBytes } from "../archives/random-access-bytes.ts";

/** A staged file, as a parser on a thread opens it. */
export interface PackageFile {
  readonly path: string;
  readonly size: number;
}

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

/** Opens the file for readers that begin with the archive's directory. */
export async function withBytes<T>({ path, size }: PackageFile, read: (bytes: RandomAccessBytes) => Promise<T>): Promise<T> {
  await using handle = await open(path);
  return await read(fileBytes(handle, size));
}

/** CPU time for reading an archive, in milliseconds: enough for the largest directory, and for unpacking 20 MB per second. */
export function archiveCpuMs({ size }: PackageFile): number {
  return 5000 + size / 20_000;
}
