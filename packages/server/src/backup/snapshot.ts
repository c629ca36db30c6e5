/**
 * The form of a backup. A target has a folder `blobs`, which all its snapshots share, and a folder `snapshots` with one
 * folder for each snapshot: the database, the list of its blobs, the sealed secrets key, and `snapshot.json`, which is
 * written last and makes the snapshot complete.
 */
import { createHash, type Hash } from "node:crypto";
import { Readable, Transform } from "node:stream";
import { text } from "node:stream/consumers";
import { parseDigest } from "../blobs/digest.ts";
import type { PostgresDump } from "../db/postgres-copy.ts";
import { linesIn } from "../lib/lines-in.ts";
import { pipeThrough } from "../lib/pipe-through.ts";
import type { BackupTarget } from "./target.ts";

export const FORMAT = 1;

export interface SnapshotFile {
  readonly path: string;
  readonly size: number;
  readonly sha256: string;
}

export interface Snapshot {
  readonly format: typeof FORMAT;
  readonly name: string;
  /** Version of the program that wrote the backup. */
  readonly version: string;
  /** Number of migrations that the database has. */
  readonly schema: number;
  readonly database: { readonly kind: "sqlite" } | ({ readonly kind: "postgres" } & PostgresDump);
  /** Files of the snapshot itself. */
  readonly files: readonly SnapshotFile[];
  readonly blobs: { readonly count: number; readonly bytes: number };
  readonly secretsKey: "sealed" | "left out";
}

export const SNAPSHOTS = "snapshots";
export const BLOBS = "blobs";
const NAME = /^\d{8}T\d{9}Z$/;

/**
 * A name that sorts by time, and after the last one. So a backup after a correction of the clock is the newest one, and not the first to
 * be pruned.
 */
export function snapshotName(time: Date, last: string | undefined): string {
  const name = nameAt(time);
  return last === undefined || name > last ? name : nameAt(new Date(timeOf(last) + 1));
}

function nameAt(time: Date): string {
  return time.toISOString().replaceAll(/[-:.]/g, "");
}

function timeOf(name: string): number {
  return Date.parse(name.replace(/^(\d{4})(\d\d)(\d\d)T(\d\d)(\d\d)(\d\d)(\d{3})Z$/, "$1-$2-$3T$4:$5:$6.$7Z"));
}

export function pathIn(name: string, file: string): string {
  return `${SNAPSHOTS}/${name}/${file}`;
}

/** Path of a blob in the target. */
export function blobPath(digest: string): string {
  const parsed = parseDigest(digest);
  if (parsed === undefined) throw new Error(`"${digest}" is not a digest`);
  return `${BLOBS}/${parsed.algorithm}/${parsed.hex.slice(0, 2)}/${parsed.hex}`;
}

/** The snapshots of a target, from the oldest to the newest. */
export async function listSnapshots(target: BackupTarget): Promise<{ complete: string[]; incomplete: string[] }> {
  const names = new Map<string, boolean>();
  for await (const { path } of target.list(SNAPSHOTS)) {
    const [, name = "", file] = path.split("/");
    if (NAME.test(name)) names.set(name, names.get(name) === true || file === "snapshot.json");
  }
  const sorted = [...names.keys()].sort();
  return { complete: sorted.filter((name) => names.get(name)), incomplete: sorted.filter((name) => !names.get(name)) };
}

export async function removeSnapshot(target: BackupTarget, name: string): Promise<void> {
  // Without this file the snapshot is not complete any more.
  await target.remove(pathIn(name, "snapshot.json"));
  for await (const { path } of target.list(`${SNAPSHOTS}/${name}`)) await target.remove(path);
}

/** @throws Error for the operator if the snapshot does not exist, or has an unknown format */
export async function readSnapshot(target: BackupTarget, name: string): Promise<Snapshot> {
  const snapshot = JSON.parse(await text(await target.read(pathIn(name, "snapshot.json")))) as Snapshot;
  if (snapshot.format !== FORMAT)
    throw new Error(`the snapshot ${name} has format ${snapshot.format}; this program reads format ${FORMAT}`);
  return snapshot;
}

/** A blob as a snapshot lists it. */
export interface ListedBlob {
  readonly digest: string;
  readonly size: number;
}

/** @param path of a list with the digest and the size of a blob in each line */
export async function* readBlobLines(target: BackupTarget, path: string): AsyncIterable<ListedBlob> {
  const input = await target.read(path);
  for await (const line of linesIn(input)) {
    const [digest = "", size] = line.split(" ");
    if (digest !== "") yield { digest, size: Number(size) };
  }
}

export function readBlobList(target: BackupTarget, name: string): AsyncIterable<ListedBlob> {
  return readBlobLines(target, pathIn(name, "blobs.txt"));
}

/** Writes files of a snapshot and remembers their sizes and hashes. */
export class SnapshotWriter {
  readonly files: SnapshotFile[] = [];
  readonly #target: BackupTarget;
  readonly #name: string;

  constructor(target: BackupTarget, name: string) {
    this.#target = target;
    this.#name = name;
  }

  /** @param file relative to the snapshot's folder */
  async write(file: string, content: Readable | string): Promise<void> {
    const source = typeof content === "string" ? Readable.from([Buffer.from(content)]) : content;
    this.files.push({ ...(await writeHashed(this.#target, pathIn(this.#name, file), source)), path: file });
  }

  /** Makes the snapshot complete. */
  finish(snapshot: Snapshot): Promise<void> {
    return this.#target.write(pathIn(this.#name, "snapshot.json"), Readable.from([Buffer.from(`${JSON.stringify(snapshot, null, 2)}\n`)]));
  }
}

/** @returns the file with the hash of the bytes that were written */
export async function writeHashed(target: BackupTarget, path: string, content: Readable): Promise<SnapshotFile> {
  const hash = createHash("sha256");
  const meter = hashing(hash);
  await target.write(path, pipeThrough(content, meter.stream));
  return { path, size: meter.size(), sha256: hash.digest("hex") };
}

/** Reads a file of the target again. @returns whether it is as it was written */
export async function isIntact(target: BackupTarget, { path, size, sha256 }: SnapshotFile): Promise<boolean> {
  const hash = createHash("sha256");
  const meter = hashing(hash);
  for await (const _ of pipeThrough(await target.read(path), meter.stream));
  return meter.size() === size && hash.digest("hex") === sha256;
}

/** Passes bytes on, and hashes and counts them. */
export function hashing(hash: Hash): { readonly stream: Transform; size(): number } {
  let size = 0;
  const stream = new Transform({
    transform(chunk: Buffer, _encoding, done) {
      hash.update(chunk);
      size += chunk.length;
      done(null, chunk);
    },
  });
  return { stream, size: () => size };
}
