/** Restores a snapshot into an empty place. */
import { createWriteStream } from "node:fs";
import { mkdir, readdir, readFile, rename, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import type { Readable } from "node:stream";
import { text } from "node:stream/consumers";
import { pipeline } from "node:stream/promises";
import { createZstdDecompress } from "node:zlib";
import { type BlobStore, DigestMismatch } from "../blobs/store.ts";
import { isEmptyPostgres, loadPostgres } from "../db/postgres-copy.ts";
import { eachConcurrently } from "../lib/each-concurrently.ts";
import { verifyFiles } from "./create-backup.ts";
import { rowsFile, SQLITE_FILE } from "./database-source.ts";
import { openKey } from "./key-box.ts";
import { blobPath, type ListedBlob, pathIn, readBlobList, type Snapshot } from "./snapshot.ts";
import { type BackupTarget, NoSuchObject } from "./target.ts";

/** File in the data folder while a restore is under way. Only the same restore may continue there. */
const MARKER = "restore.json";
const OWN_FILES = [MARKER, "blobs", "imports", "uploads", "secrets.key", "holt.db.restoring", "lost+found"];
const CONCURRENCY = 4;

export interface RestoreParts {
  readonly target: BackupTarget;
  readonly snapshot: Snapshot;
  readonly dataDir: string;
  /** Empty for SQLite. */
  readonly databaseUrl: string;
  openBlobs(): Promise<BlobStore>;
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
  await claimFolder(parts);
  if (key !== undefined) await writeFile(join(dataDir, "secrets.key"), `${Buffer.from(key).toString("base64")}\n`, { mode: 0o600 });
  {
    await using blobs = await parts.openBlobs();
    await eachConcurrently(readBlobList(target, snapshot.name), CONCURRENCY, async (blob) => {
      await restoreBlob(target, blobs, blob);
      onBlob(blob);
    });
  }
  await restoreDatabase(parts);
}

/** Call it once the restored data is verified. */
export async function finishRestore(dataDir: string): Promise<void> {
  await rm(join(dataDir, MARKER), { force: true });
}

function nameOf(kind: string): string {
  return kind === "sqlite" ? "SQLite" : "PostgreSQL";
}

async function sealedKey({ target, snapshot, passphrase }: RestoreParts): Promise<Uint8Array | undefined> {
  if (snapshot.secretsKey !== "sealed" || passphrase === "") return undefined;
  return openKey(await text(await target.read(pathIn(snapshot.name, "secrets.key.sealed"))), passphrase);
}

/** @throws Error for the operator unless the place is empty, or this restore was interrupted there */
async function claimFolder({ target, snapshot, dataDir, databaseUrl }: RestoreParts): Promise<void> {
  await mkdir(dataDir, { recursive: true, mode: 0o700 });
  const claim = JSON.stringify({ target: target.name, snapshot: snapshot.name });
  const found = await readFile(join(dataDir, MARKER), "utf8").catch(() => undefined);
  const allowed = found === claim ? OWN_FILES : ["lost+found"];
  const others = (await readdir(dataDir)).filter((name) => !allowed.includes(name));
  if (others.length > 0 || (found !== undefined && found !== claim))
    throw new Error(`a restore needs an empty data folder, but ${dataDir} has ${others[0] ?? `an unfinished restore of ${found}`}`);
  // The rows arrive in one transaction, so a database with tables but without them belongs to an interrupted restore.
  if (databaseUrl !== "" && found !== claim && !(await isEmptyPostgres(databaseUrl)))
    throw new Error("a restore needs an empty database, but this one has tables");
  await writeFile(join(dataDir, MARKER), claim, { mode: 0o600 });
}

/** The blob store compares the digest, and its write is durable. */
async function restoreBlob(target: BackupTarget, blobs: BlobStore, { digest, size }: ListedBlob): Promise<void> {
  if ((await blobs.stat(digest))?.size === size) return;
  const upload = `restore-${digest.replace(":", "-").slice(0, 100)}`;
  await blobs.abort(upload);
  try {
    await blobs.append(upload, await target.read(blobPath(digest)), 0);
    await blobs.commit(upload, digest);
  } catch (error) {
    if (error instanceof DigestMismatch) throw new Error(`the blob ${digest} of the backup is damaged`, { cause: error });
    if (error instanceof NoSuchObject) throw new Error(`the backup has lost the blob ${digest}`, { cause: error });
    throw error;
  } finally {
    await blobs.abort(upload);
  }
}

async function restoreDatabase({ target, snapshot, dataDir, databaseUrl, createTables }: RestoreParts): Promise<void> {
  const { database, schema, name } = snapshot;
  if (database.kind === "sqlite") return restoreFile(await target.read(pathIn(name, SQLITE_FILE)), join(dataDir, "holt.db"));
  await createTables(schema);
  await loadPostgres(databaseUrl, database, async (table) => {
    const compressed = await target.read(pathIn(name, rowsFile(table.name)));
    const rows = createZstdDecompress();
    compressed.on("error", (error) => rows.destroy(error));
    return compressed.pipe(rows);
  });
}

/** The file appears complete. */
async function restoreFile(content: Readable, path: string): Promise<void> {
  const partial = `${path}.restoring`;
  await pipeline(content, createWriteStream(partial, { mode: 0o600, flush: true }));
  await rename(partial, path);
}
