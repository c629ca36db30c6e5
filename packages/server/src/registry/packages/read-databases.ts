/** Reads the packages of an image from the package databases that remain after all layers are applied. */
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { readUntrustedTable } from "../../db/sqlite-file.ts";
import { readApkDatabase } from "./apk-database.ts";
import { readHashValues } from "./berkeley-db.ts";
import type { ImageFileKind } from "./database-paths.ts";
import { readDpkgStatus } from "./dpkg-status.ts";
import type { DatabaseEntry, FoundPackage } from "./found-package.ts";
import type { FileContent, ImageFiles } from "./image-files.ts";
import { type OsRelease, readOsRelease } from "./os-release.ts";
import { type DatabaseType, packageFromEntry } from "./package-url.ts";
import { readRpmHeader } from "./rpm-header.ts";

/** Bytes of one package's header. Kernels with all their modules have about 2 MiB. */
const MAX_HEADER_BYTES = 16 * 1024 * 1024;
/** Length of the one value that is not a header: the number of the next package. */
const INSTANCE_BYTES = 4;
const RPM_TABLE = {
  table: "Packages",
  column: "blob",
  definition: /^create table\s+['"]?Packages['"]?\s*\(\s*hnum integer primary key autoincrement\s*,\s*blob blob not null\s*\)$/i,
  maxBytes: MAX_HEADER_BYTES,
} as const;

const types: Partial<Record<ImageFileKind, DatabaseType>> = { apk: "apk", dpkg: "deb", rpm: "rpm", "rpm-bdb": "rpm" };

export function distributionOf(files: ImageFiles): OsRelease {
  const linked = files.entries().filter(([path]) => files.paths.kindOf(path) === "os-release");
  const found = [files.get("etc/os-release"), files.get("usr/lib/os-release"), ...linked.map(([, content]) => content)];
  const content = found.find((one) => Buffer.isBuffer(one));
  return readOsRelease(content?.toString("utf8", 0, 64 * 1024) ?? "");
}

/**
 * @param tempFolder for databases that can only be read from a file
 * @param onProblem receives databases that cannot be read
 */
export function* readDatabases(
  files: ImageFiles,
  tempFolder: string,
  onProblem: (path: string, reason: string) => void,
): Generator<FoundPackage> {
  const distribution = distributionOf(files);
  for (const [path, content] of files.entries()) {
    const kind = files.paths.kindOf(path);
    if (typeof content === "string") {
      onProblem(path, content);
      continue;
    }
    if (kind === "rpm-foreign") onProblem(path, "unsupported RPM database format; only rpmdb.sqlite and Berkeley DB are supported");
    const type = kind === undefined ? undefined : types[kind];
    if (type === undefined) continue;
    try {
      const database: Database = { type, isBerkeleyDb: kind === "rpm-bdb", path, content, log: files.get(`${path}-wal`) };
      for (const entry of readEntries(database, tempFolder)) yield packageFromEntry(entry, type, path, distribution);
    } catch (error) {
      onProblem(path, (error as Error).message.slice(0, 200));
    }
  }
}

interface Database {
  readonly type: DatabaseType;
  readonly isBerkeleyDb: boolean;
  readonly path: string;
  readonly content: Buffer;
  /** SQLite's write-ahead log, if there is one. */
  readonly log: FileContent | undefined;
}

function readEntries({ type, isBerkeleyDb, content, log }: Database, tempFolder: string): Iterable<DatabaseEntry> {
  if (isBerkeleyDb) return readBerkeleyDb(content);
  if (type === "rpm") return readRpmDatabase(content, log, tempFolder);
  const text = content.toString("utf8");
  return type === "apk" ? readApkDatabase(text) : readDpkgStatus(text);
}

function* readBerkeleyDb(content: Buffer): Generator<DatabaseEntry> {
  for (const value of readHashValues(content, MAX_HEADER_BYTES)) {
    const entry = value.length === INSTANCE_BYTES ? undefined : readRpmHeader(value);
    if (entry !== undefined) yield entry;
  }
}

/** @param log SQLite's write-ahead log: what was written since the last checkpoint */
function* readRpmDatabase(content: Buffer, log: FileContent | undefined, tempFolder: string): Generator<DatabaseEntry> {
  const folder = mkdtempSync(join(tempFolder, "rpm-"));
  try {
    const path = join(folder, "rpmdb.sqlite");
    writeFileSync(path, content, { mode: 0o600 });
    if (Buffer.isBuffer(log) && log.length > 0) writeFileSync(`${path}-wal`, log, { mode: 0o600 });
    for (const header of readUntrustedTable(path, RPM_TABLE)) {
      const entry = readRpmHeader(header);
      if (entry !== undefined) yield entry;
    }
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}
