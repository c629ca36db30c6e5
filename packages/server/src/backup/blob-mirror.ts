/** Copies blobs into a target, each once for all of its snapshots. */
import { createHash } from "node:crypto";
import { Readable } from "node:stream";
import { digestOf, parseDigest } from "../blobs/digest.ts";
import { type BlobStore, NoSuchBlob } from "../blobs/store.ts";
import { eachConcurrently } from "../lib/each-concurrently.ts";
import { pipeThrough } from "../lib/pipe-through.ts";
import { BLOBS, blobPath, hashing, type ListedBlob } from "./snapshot.ts";
import type { BackupTarget } from "./target.ts";

/** Copies at the same time. */
const CONCURRENCY = 4;

export type MirrorOutcome = "present" | "copied" | "missing" | "damaged";

export interface BlobMirror {
  /**
   * Copies what the target lacks. A blob that the server has lost, or whose bytes do not match its digest, is not copied.
   * @param onBlob called for each blob, in any order
   */
  copy(blobs: Iterable<ListedBlob> | AsyncIterable<ListedBlob>, onBlob: (blob: ListedBlob, outcome: MirrorOutcome) => void): Promise<void>;
}

/** Reads once which blobs the target has. */
export async function openBlobMirror(target: BackupTarget, blobs: BlobStore): Promise<BlobMirror> {
  const present = new Map<string, number>();
  for await (const { path, size } of target.list(BLOBS)) present.set(path, size);

  async function copyOne({ digest, size }: ListedBlob): Promise<MirrorOutcome> {
    const path = blobPath(digest);
    if (present.get(path) === size) return "present";
    const outcome = await writeBlob(target, blobs, { digest, size });
    if (outcome === "copied") present.set(path, size);
    return outcome;
  }

  return {
    copy: (wanted, onBlob) => eachConcurrently(wanted, CONCURRENCY, async (blob) => onBlob(blob, await copyOne(blob))),
  };
}

/** Hashes the bytes on their way: a damaged blob must not replace a good copy, nor look like one. */
async function writeBlob(target: BackupTarget, blobs: BlobStore, { digest, size }: ListedBlob): Promise<MirrorOutcome> {
  const algorithm = parseDigest(digest)?.algorithm ?? "sha256";
  if (size === 0) return writeEmpty(target, digest);
  try {
    const source = await blobs.read(digest, { start: 0, end: size - 1 });
    const hash = createHash(algorithm);
    const meter = hashing(hash);
    const bytes = pipeThrough(source, meter.stream);
    const check = async function* () {
      yield* bytes;
      if (meter.size() !== size || `${algorithm}:${hash.digest("hex")}` !== digest) throw new DamagedBlob();
    };
    await target.write(blobPath(digest), Readable.from(check(), { objectMode: false }));
    return "copied";
  } catch (error) {
    if (error instanceof NoSuchBlob) return "missing";
    if (error instanceof DamagedBlob || (await blobs.hasLost(digest, size))) return "damaged";
    throw error;
  }
}

/** A blob without bytes has no range to read. */
async function writeEmpty(target: BackupTarget, digest: string): Promise<MirrorOutcome> {
  const algorithm = parseDigest(digest)?.algorithm ?? "sha256";
  if (digestOf(Buffer.alloc(0), algorithm) !== digest) return "damaged";
  await target.write(blobPath(digest), Readable.from([]));
  return "copied";
}

class DamagedBlob extends Error {}
