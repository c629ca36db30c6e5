/** Reads `lib/apk/db/installed`, the database of packages that apk installed. Pure. */
import type { DatabaseEntry } from "./found-package.ts";
import { readRecords } from "./text-records.ts";

/** Package, version, architecture and origin; other fields are skipped. */
const KEYS = new Set(["P", "V", "A", "o"]);

export function* readApkDatabase(text: string): Generator<DatabaseEntry> {
  for (const record of readRecords(text, keyOf)) {
    const name = record.get("P") ?? "";
    yield {
      name,
      version: record.get("V") ?? "",
      architecture: record.get("A") ?? "",
      origin: record.get("o") || name,
      originVersion: "",
      epoch: "",
    };
  }
}

function keyOf(line: string): string | undefined {
  const [key = "", colon] = line;
  return colon === ":" && KEYS.has(key) ? key : undefined;
}
