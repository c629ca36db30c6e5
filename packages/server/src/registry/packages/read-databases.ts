/** The packages of an image, out of the databases that its layers leave in the end. */
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { readStrangersTable } from "../../db/sqlite-file.ts";
import { readApkDatabase } from "./apk-database.ts";
import { type FileKind, kindOf } from "./database-paths.ts";
import { readDpkgStatus } from "./dpkg-status.ts";
import type { DatabaseEntry, FoundPackage } from "./found-package.ts";
import type { ImageFiles } from "./image-files.ts";
import { type Distribution, readOsRelease } from "./os-release.ts";
import { type DatabaseType, packageFromEntry } from "./package-url.ts";
import { readRpmHeader } from "./rpm-header.ts";

/** Of one package; those of kernels with all their modules have about 2 MiB. */
const MAX_HEADER = 16 * 1024 * 1024;
const RPM_TABLE = {
  table: "Packages",
  column: "blob",
  definition: /^create table\s+['"]?Packages['"]?\s*\(\s*hnum integer primary key autoincrement\s*,\s*blob blob not null\s*\)$/i,
  maxBytes: MAX_HEADER,
} as const;

const types: Partial<Record<FileKind, DatabaseType>> = { apk: "apk", dpkg: "deb", rpm: "rpm" };

export function distributionOf(files: ImageFiles): Distribution {
  const content = ["etc/os-release", "usr/lib/os-release"].map((path) => files.get(path)).find((found) => Buffer.isBuffer(found));
  return readOsRelease(content?.toString("utf8", 0, 64 * 1024) ?? "");
}

/** @param tempFolder for databases that can only be read as files */
export function* readDatabases(
  files: ImageFiles,
  tempFolder: string,
  onProblem: (path: string, reason: string) => void,
): Generator<FoundPackage> {
  const distribution = distributionOf(files);
  for (const [path, content] of files.entries()) {
    const kind = kindOf(path);
    if (typeof content === "string") {
      onProblem(path, content);
      continue;
    }
    if (kind === "rpm-foreign") onProblem(path, "databases of RPM are read where they are rpmdb.sqlite; this one is of an older kind");
    const type = kind === undefined ? undefined : types[kind];
    if (type === undefined) continue;
    try {
      for (const entry of readEntries(type, path, content, files, tempFolder)) yield packageFromEntry(entry, type, path, distribution);
    } catch (error) {
      onProblem(path, (error as Error).message.slice(0, 200));
    }
  }
}

function readEntries(type: DatabaseType, path: string, content: Buffer, files: ImageFiles, tempFolder: string): Iterable<DatabaseEntry> {
  if (type === "rpm") return readRpmDatabase(content, files.get(`${path}-wal`), tempFolder);
  const text = content.toString("utf8");
  return type === "apk" ? readApkDatabase(text) : readDpkgStatus(text);
}

/** @param log what was written since the last checkpoint */
function* readRpmDatabase(content: Buffer, log: Buffer | string | undefined, tempFolder: string): Generator<DatabaseEntry> {
  const folder = mkdtempSync(join(tempFolder, "rpm-"));
  try {
    const path = join(folder, "rpmdb.sqlite");
    writeFileSync(path, content, { mode: 0o600 });
    if (Buffer.isBuffer(log) && log.length > 0) writeFileSync(`${path}-wal`, log, { mode: 0o600 });
    for (const header of readStrangersTable(path, RPM_TABLE)) {
      const entry = readRpmHeader(header);
      if (entry !== undefined) yield entry;
    }
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}
