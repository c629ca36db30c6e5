/** Reads `var/lib/dpkg/status`, and the files of `status.d` that images without dpkg have instead. Pure. */
import type { DatabaseEntry } from "./found-package.ts";
import { readRecords } from "./text-records.ts";

const KEYS = new Set(["package", "version", "architecture", "source", "status"]);
/** Values of the third word of `Status` for packages whose files are removed. */
const ABSENT = new Set(["not-installed", "config-files"]);

export function* readDpkgStatus(text: string): Generator<DatabaseEntry> {
  for (const record of readRecords(text, keyOf)) {
    const [, , state] = (record.get("status") ?? "").split(/\s+/);
    if (state !== undefined && ABSENT.has(state)) continue;
    const name = record.get("package") ?? "";
    // `openssl (3.0.1-1)` if the source package has another version.
    const [origin = "", originVersion = ""] = (record.get("source") ?? "").split(/[\s()]+/, 2);
    yield {
      name,
      version: record.get("version") ?? "",
      architecture: record.get("architecture") ?? "",
      origin: origin || name,
      originVersion,
      epoch: "",
    };
  }
}

function keyOf(line: string): string | undefined {
  const colon = line.indexOf(":");
  const key = line.slice(0, Math.max(0, colon)).toLowerCase();
  return KEYS.has(key) ? key : undefined;
}
