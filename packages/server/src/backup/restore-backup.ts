/** Restores a snapshot into an empty place. */
import { createWriteStream, existsSync } from "node:fs";
import { readdir, readFile, rename, rm, writeFile } from "node:fs/promises";
import { basename, join } from "node:path";
import type { Readable } from "node:stream";
import { text } from "node:stream/consumers";
import { pipeline } from "node:stream/promises";
import { createZstdDecompress } from "node:zlib";
import { DigestMismatch } from "../blobs/store.ts";
import { sqlitePath } from "../db/open.ts";
import { isEmptyPostgres, loadPostgres } from "../db/postgres-copy.ts";
import { createFolders } from "../lib/create-folders.ts";
import { eachConcurrently } from "../lib/each-concurrently.ts";
import { pipeThrough } from "../lib/pipe-through.ts";
import { verifyFiles } from "./create-backup.ts";
import { rowsFile, SQLITE_FILE } from "./database-source.ts";
import { openKey } from "./key-box.ts";
import type { RestoredBlobs } from "./restored-blobs.ts";
import { blobPath, type ListedBlob, pathIn, readBlobList, type Snapshot } from "./snapshot.ts";
import { type BackupTarget, NoSuchObject } from "./target.ts";

/** File in the data folder while a restore is under way. Only the same restore may continue there. */
const MARKER = "restore.json";
const OWN_FILES = [MARKER, "blobs", "imports", "uploads", "secrets.key", "lost+found"];
const CONCURRENCY = 4;

export interface RestoreParts {
  readonly target: BackupTarget;
  readonly snapshot: Snapshot;
  readonly dataDir: string;
  /** Empty for SQLite. */
  readonly databaseUrl: string;
  openBlobs(): Promise<RestoredBlobs>;
  /** Creates the tables of an earlier or the current schema in an empty PostgreSQL. */
  createTables(schema: number): Promise<void>;
  readonly passphrase: string;
}

/** @param onBlob called after each blob */
export async function restoreBackup(parts: RestoreParts, onBlob: (blob: ListedBlob) => void): Promise<void> {
  const { target, snapshot, dataDir, databaseUrl } = parts;
  const wanted = databaseUrl === "" ? "sqlite" : "postgres";
  if (snapshot.database.kind !== wanted)
    throw new Error(`the backup is of ${nameOf(snapshot.database.kind)}, but the settings name ${nameOf(wanted)}`);
  await verifyFiles(target, snapshot);
  const key = await sealedKey(parts);
  await using blobs = await parts.openBlobs();
  await claimPlace(parts, JSON.stringify({ target: target.name, snapshot: snapshot.name }), blobs);
  await writeKey(dataDir, key);
  await eachConcurrently(readBlobList(target, snapshot.name), CONCURRENCY, async (blob) => {
    await restoreBlob(target, blobs, blob);
    onBlob(blob);
  });
  await restoreDatabase(parts);
}

/** Call it once the restored data is verified. */
export async function finishRestore(dataDir: string): Promise<void> {
  await rm(join(dataDir, MARKER), { force: true });
}

function nameOf(kind: string): string {
  return kind === "sqlite" ? "SQLite" : "PostgreSQL";
}

/** @throws Error for the operator if the passphrase is wrong */
export async function sealedKey({
  target,
  snapshot,
  passphrase,
}: Pick<RestoreParts, "target" | "snapshot" | "passphrase">): Promise<Uint8Array | undefined> {
  if (snapshot.secretsKey !== "sealed" || passphrase === "") return undefined;
  return openKey(await text(await target.read(pathIn(snapshot.name, "secrets.key.sealed"))), passphrase);
}

export async function writeKey(dataDir: string, key: Uint8Array | undefined): Promise<void> {
  if (key !== undefined) await writeFile(join(dataDir, "secrets.key"), `${Buffer.from(key).toString("base64")}\n`, { mode: 0o600 });
}

/**
 * @param claim identifies the restore
 * @param blobs undefined if their place may have content
 * @throws Error for the operator unless the place is empty, or this restore was interrupted there
 */
export async function claimPlace(
  { dataDir, databaseUrl }: Pick<RestoreParts, "dataDir" | "databaseUrl">,
  claim: string,
  blobs: RestoredBlobs | undefined,
): Promise<void> {
  createFolders(dataDir);
  const found = await readFile(join(dataDir, MARKER), "utf8").catch(() => undefined);
  // Names of the database's other files begin with its own.
  const database = basename(sqlitePath(dataDir));
  const isAllowed = (name: string) => (found === claim ? OWN_FILES.includes(name) || name.startsWith(database) : name === "lost+found");
  const others = (await readdir(dataDir)).filter((name) => !isAllowed(name));
  if (others.length > 0 || (found !== undefined && found !== claim))
    throw new Error(`a restore needs an empty data folder, but ${dataDir} has ${others[0] ?? `an unfinished restore of ${found}`}`);
  if (blobs !== undefined && found !== claim && !(await blobs.isEmpty()))
    throw new Error(`a restore needs an empty place for blobs, but ${blobs.name} has objects`);
  // The rows arrive in one transaction, so a database with tables but without them belongs to an interrupted restore.
  if (databaseUrl !== "" && found !== claim && !(await isEmptyPostgres(databaseUrl)))
    throw new Error("a restore needs an empty database, but this one has tables");
  await writeFile(join(dataDir, MARKER), claim, { mode: 0o600 });
}

/**
 * Whether an earlier run of this restore has got as far as the check of the restored data: the database appears complete and
 * after all blobs. Call it after `claimPlace`.
 */
export function isDatabaseRestored(dataDir: string): boolean {
  return existsSync(sqlitePath(dataDir));
}

/** @throws Error for the operator; BlobMissing */
export async function restoreBlob(target: BackupTarget, blobs: RestoredBlobs, blob: ListedBlob): Promise<void> {
  const { digest } = blob;
  if (await blobs.has(blob)) return;
  try {
    await blobs.write(blob, await target.read(blobPath(digest)));
  } catch (error) {
    if (error instanceof DigestMismatch) throw new Error(`the blob ${digest} of the backup is damaged`, { cause: error });
    if (error instanceof NoSuchObject) throw new BlobMissing(`the backup has lost the blob ${digest}`, { cause: error });
    throw error;
  }
}

/** The target has no such blob. */
export class BlobMissing extends Error {}

async function restoreDatabase({ target, snapshot, dataDir, databaseUrl, createTables }: RestoreParts): Promise<void> {
  const { database, schema, name } = snapshot;
  if (database.kind === "sqlite") {
    if (!isDatabaseRestored(dataDir)) await restoreFile(await target.read(pathIn(name, SQLITE_FILE)), sqlitePath(dataDir));
    return;
  }
  await createTables(schema);
  await loadPostgres(databaseUrl, database, async (table) => {
    return pipeThrough(await target.read(pathIn(name, rowsFile(table.name))), createZstdDecompress());
  });
}

/** The file appears complete. */
async function restoreFile(content: Readable, path: string): Promise<void> {
  const partial = `${path}.restoring`;
  await pipeline(content, createWriteStream(partial, { mode: 0o600, flush: true }));
  await rename(partial, path);
}
