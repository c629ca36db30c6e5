/**
 * Writes a backup of a running server: blobs, then the database, then the blobs that arrived meanwhile. An interrupted
 * backup leaves its blobs, and the next one continues with them.
 */
import { join } from "node:path";
import { Readable } from "node:stream";
import { hasDigest } from "../blobs/digest.ts";
import type { BlobStore } from "../blobs/store.ts";
import { sha256Hex } from "../lib/sha256.ts";
import { type BlobMirror, openBlobMirror } from "./blob-mirror.ts";
import type { CopiedDatabase, DatabaseSource, KnownBlob } from "./database-source.ts";
import { sealKey } from "./key-box.ts";
import {
  BLOBS,
  blobPath,
  FORMAT,
  isIntact,
  type ListedBlob,
  listSnapshots,
  pathIn,
  readBlobList,
  removeSnapshot,
  SNAPSHOTS,
  type Snapshot,
  SnapshotWriter,
  snapshotName,
} from "./snapshot.ts";
import type { BackupTarget } from "./target.ts";

export interface BackupParts {
  readonly target: BackupTarget;
  readonly database: DatabaseSource;
  readonly blobs: BlobStore;
  /** The blobs that the running server has now. */
  presentBlobs(): AsyncIterable<ListedBlob>;
  /** Undefined to leave the key out. */
  readonly secretsKey: { readonly key: Uint8Array; readonly passphrase: string } | undefined;
  readonly version: string;
  readonly now: Date;
  /** A folder for temporary files, where the target has none. */
  readonly scratch: string;
  /** Reads all blobs of the snapshot again and compares their hashes. */
  readonly verifiesBlobs: boolean;
}

export interface BackupReport {
  /** Begins a part of the work. */
  step(text: string): void;
  progress(part: { readonly blobs: number; readonly bytes: number }): void;
  problem(text: string): void;
}

export interface BackupResult {
  readonly snapshot: Snapshot;
  readonly copied: { readonly count: number; readonly bytes: number };
  /** Blobs that content needs and the server has not, and damaged ones. */
  readonly problems: number;
}

/** @throws Error for the operator; the target has no new snapshot then */
export async function createBackup(parts: BackupParts, report: BackupReport): Promise<BackupResult> {
  const { target, now, version, secretsKey } = parts;
  for (const folder of [BLOBS, SNAPSHOTS]) await target.removeLeftovers(folder);
  const { complete, incomplete } = await listSnapshots(target);
  for (const name of incomplete) await removeSnapshot(target, name);
  const mirror = await openBlobMirror(target, parts.blobs);
  const tally = new Tally(report);
  report.step("copying blobs");
  // Problems count in the second run, which knows what content needs.
  await mirror.copy(parts.presentBlobs(), (blob, outcome) => tally.count(blob, outcome));
  const name = snapshotName(now, complete.at(-1));
  const writer = new SnapshotWriter(target, name);
  report.step("copying the database");
  const copied = await parts.database.copyTo(writer, { scratch: scratchFile(parts), onProgress() {} });
  report.step("copying the blobs that arrived meanwhile");
  const listed = await mirrorKnown(mirror, copied, tally);
  await writer.write("blobs.txt", Readable.from(linesOf(listed)));
  if (secretsKey !== undefined) await writer.write("secrets.key.sealed", `${sealKey(secretsKey.key, secretsKey.passphrase)}\n`);
  const { database, schema } = copied;
  const bytes = listed.reduce((sum, { size }) => sum + size, 0);
  const blobs = { count: listed.length, bytes };
  const key = secretsKey === undefined ? "left out" : "sealed";
  const snapshot: Snapshot = { format: FORMAT, name, version, schema, database, files: writer.files, blobs, secretsKey: key };
  report.step("verifying");
  await verifyFiles(target, snapshot);
  await verifyBlobs(target, listed, parts.verifiesBlobs);
  await writer.finish(snapshot);
  return { snapshot, copied: tally.copied, problems: tally.problems };
}

/** Each target has its own, so that a backup removes what an interrupted one has left, and no file of another backup. */
function scratchFile({ target, scratch }: BackupParts): string {
  return join(target.scratch ?? scratch, `holt-backup-${sha256Hex(target.name).slice(0, 16)}.db`);
}

class Tally {
  readonly copied = { count: 0, bytes: 0 };
  problems = 0;
  readonly #report: BackupReport;
  #seen = { blobs: 0, bytes: 0 };

  constructor(report: BackupReport) {
    this.#report = report;
  }

  count({ size }: ListedBlob, outcome: string): void {
    this.#seen = { blobs: this.#seen.blobs + 1, bytes: this.#seen.bytes + size };
    this.#report.progress(this.#seen);
    if (outcome !== "copied") return;
    this.copied.count++;
    this.copied.bytes += size;
  }

  note(problem: string): void {
    this.problems++;
    this.#report.problem(problem);
  }
}

/** @returns the blobs that the target has, by digest */
async function mirrorKnown(mirror: BlobMirror, { blobs }: CopiedDatabase, tally: Tally): Promise<ListedBlob[]> {
  const listed: ListedBlob[] = [];
  await mirror.copy(blobs, (blob, outcome) => {
    tally.count(blob, outcome);
    if (outcome === "present" || outcome === "copied") listed.push({ digest: blob.digest, size: blob.size });
    else if (outcome === "damaged" || (blob as KnownBlob).isReferenced)
      tally.note(`the server's blob ${blob.digest} is ${outcome}; the backup does not have it`);
  });
  return listed.sort((a, b) => (a.digest < b.digest ? -1 : 1));
}

function* linesOf(blobs: readonly ListedBlob[]): Generator<Buffer> {
  for (let at = 0; at < blobs.length; at += 1000)
    yield Buffer.from(
      blobs
        .slice(at, at + 1000)
        .map(({ digest, size }) => `${digest} ${size}\n`)
        .join(""),
    );
}

/** Reads the files of a snapshot again. @throws Error for the operator if one has changed */
export async function verifyFiles(target: BackupTarget, { name, files }: Pick<Snapshot, "name" | "files">): Promise<void> {
  for (const file of files) {
    const { path } = file;
    if (!(await isIntact(target, { ...file, path: pathIn(name, path) })))
      throw new Error(`the file ${path} of the snapshot ${name} is damaged`);
  }
}

/** @param readsAll compares the hashes of all bytes, not only the sizes. @throws Error for the operator */
async function verifyBlobs(
  target: BackupTarget,
  blobs: Iterable<ListedBlob> | AsyncIterable<ListedBlob>,
  readsAll: boolean,
): Promise<void> {
  const sizes = new Map<string, number>();
  for await (const { path, size } of target.list(BLOBS)) sizes.set(path, size);
  for await (const { digest, size } of blobs) {
    const path = blobPath(digest);
    if (sizes.get(path) !== size) throw new Error(`the backup has lost the blob ${digest}`);
    if (!readsAll) continue;
    if (!(await hasDigest(await target.read(path), digest)))
      throw new Error(`the blob ${digest} of the backup is damaged; remove its file and repeat the backup`);
  }
}

/** Removes all but the newest snapshots, and the blobs that no remaining snapshot names. @returns the number of removed ones */
export async function pruneBackups(target: BackupTarget, keep: number): Promise<{ snapshots: number; blobs: number }> {
  const { complete } = await listSnapshots(target);
  const old = complete.slice(0, -keep);
  if (old.length === 0) return { snapshots: 0, blobs: 0 };
  for (const name of old) await removeSnapshot(target, name);
  const needed = new Set<string>();
  for (const name of complete.slice(-keep)) for await (const { digest } of readBlobList(target, name)) needed.add(blobPath(digest));
  let blobs = 0;
  for await (const { path } of target.list(BLOBS)) {
    if (needed.has(path)) continue;
    await target.remove(path);
    blobs++;
  }
  return { snapshots: old.length, blobs };
}
