/** Checks the disk, the data folder and its permissions. */
import { constants } from "node:fs";
import { access, stat, statfs } from "node:fs/promises";
import { join } from "node:path";
import type { Config } from "../../config.ts";
import { type Problem, problemsOf } from "./problem.ts";

const MIN_FREE_BYTES = 1024 ** 3;
const MIN_FREE_SHARE = 0.05;
/** Types of statfs(2) on which SQLite's locks are not reliable. */
const NETWORK_FILE_SYSTEMS = new Map([
  [0x6969, "NFS"],
  [0xff534d42, "CIFS"],
  [0xfe534d42, "SMB2"],
  [0x01021997, "9P"],
]);

export async function checkDisk({ dataDir, databaseUrl }: Config): Promise<Problem[]> {
  const disk = await statfs(dataDir).catch(() => undefined);
  // A missing folder is a finding of `checkPermissions`.
  if (disk === undefined) return [];
  const { bavail, blocks, bsize, ffree, files, type } = disk;
  const freeBytes = bavail * bsize;
  const network = NETWORK_FILE_SYSTEMS.get(type);
  return problemsOf("disk", [
    [
      freeBytes < MIN_FREE_BYTES || bavail < blocks * MIN_FREE_SHARE,
      `${dataDir} has ${Math.floor(freeBytes / 1024 ** 2)} MB of free space`,
      "make space, move the data folder to a larger disk, or run holtd gc",
    ],
    [
      files > 0 && ffree < files * MIN_FREE_SHARE,
      `the file system of ${dataDir} has ${ffree} free inodes of ${files}`,
      "remove small files, or use a file system with more inodes",
    ],
    [
      network !== undefined && databaseUrl === "",
      `${dataDir} is on ${network}, where SQLite's locks are not reliable`,
      "set HOLT_DATA_DIR to a local disk, or HOLT_DATABASE_URL to a PostgreSQL",
    ],
  ]);
}

/** Secrets or data that no other user may read. */
const PRIVATE = ["", "holt.db", "holt.db-wal", "secrets.key", "blobs", "uploads"];
const WRITABLE = ["", "holt.db", "blobs", "uploads", "imports"];

export async function checkPermissions({ dataDir }: Config): Promise<Problem[]> {
  if ((await stat(dataDir).catch(() => undefined)) === undefined)
    return problemsOf("permissions", [
      [true, `the data folder ${dataDir} does not exist`, "check HOLT_DATA_DIR, or start the server, which creates it"],
    ]);
  const problems = await Promise.all([
    ...PRIVATE.map((name) => checkPrivate(join(dataDir, name))),
    ...WRITABLE.map((name) => checkWritable(join(dataDir, name))),
  ]);
  return problems.flat();
}

async function checkPrivate(path: string): Promise<Problem[]> {
  const found = await stat(path).catch(() => undefined);
  if (found === undefined) return [];
  return problemsOf("permissions", [
    [
      (found.mode & 0o077) !== 0,
      `other users may use ${path} (mode ${(found.mode & 0o777).toString(8)})`,
      `chmod ${found.isDirectory() ? "700" : "600"} ${path}`,
    ],
  ]);
}

async function checkWritable(path: string): Promise<Problem[]> {
  const code = await access(path, constants.R_OK | constants.W_OK).then(
    () => "",
    (error: NodeJS.ErrnoException) => error.code ?? "",
  );
  return problemsOf("permissions", [
    [
      !["", "ENOENT"].includes(code),
      `this user (uid ${process.getuid?.() ?? "?"}) cannot write ${path} (${code})`,
      "run holtd doctor as the user of the server, or make this user the owner",
    ],
  ]);
}
