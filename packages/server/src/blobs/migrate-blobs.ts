/**
 * Copies all blobs from one store to another while servers use both. A blob that the new store has is not copied again, so
 * an interrupted migration continues. Each copy is stored under the digest of the bytes that arrived.
 */
import { Readable } from "node:stream";
import { eachConcurrently } from "../lib/each-concurrently.ts";
import type { Log } from "../lib/log.ts";
import { putBlob } from "./put-blob.ts";
import { type BlobStore, DigestMismatch, type ListedBlob, NoSuchBlob } from "./store.ts";

export interface MigrationReport {
  /** Blobs and bytes that this run copied. */
  readonly copied: number;
  readonly bytes: number;
  /** Blobs that the new store had already. */
  readonly present: number;
  /** Blobs whose bytes have another digest in the old store. */
  readonly damaged: readonly string[];
  /** Uploads and waiting imports that began in the old store and end there. */
  readonly unfinished: number;
}

export interface MigrationOptions {
  readonly from: BlobStore;
  readonly to: BlobStore;
  /** The size of a recorded blob. Undefined for bytes without a row. */
  recordedSize(digest: string): Promise<number | undefined>;
  readonly log: Log;
  readonly onCopied?: (digest: string, size: number) => void;
}

/** Later than the last append of any upload. */
const ALWAYS = new Date("9999-01-01");
const MAX_COPIES_AT_ONCE = 4;

/** Runs until a pass finds nothing new, because servers may finish uploads in the old store meanwhile. */
export async function migrateBlobs(options: MigrationOptions): Promise<MigrationReport> {
  const damaged = new Set<string>();
  let copied = 0;
  let bytes = 0;
  for (;;) {
    const pass = await runPass(options, damaged);
    copied += pass.copied;
    bytes += pass.bytes;
    if (pass.copied > 0) continue;
    return { copied, bytes, present: pass.present, damaged: [...damaged], unfinished: await countUnfinished(options.from) };
  }
}

async function runPass(options: MigrationOptions, damaged: Set<string>) {
  const { from, to, log, onCopied } = options;
  const counts = { copied: 0, bytes: 0, present: 0 };
  const missing = missingBlobs(from, to, () => counts.present++);
  await eachConcurrently(missing, MAX_COPIES_AT_ONCE, async (digest) => {
    if (damaged.has(digest)) return;
    const size = await copyBlob(digest, options);
    if (size === "damaged") {
      damaged.add(digest);
      log.error({ digest }, "a blob is damaged and was not copied; push the content again");
    } else if (size !== undefined) {
      counts.copied++;
      counts.bytes += size;
      onCopied?.(digest, size);
    }
  });
  return counts;
}

/** @returns the size; undefined if the blob was collected meanwhile */
async function copyBlob(digest: string, { from, to, recordedSize }: MigrationOptions): Promise<number | "damaged" | undefined> {
  const facts = await from.stat(digest);
  if (facts === undefined) return undefined;
  // An append during the commit may have made the file longer than the blob.
  const size = Math.min((await recordedSize(digest)) ?? facts.size, facts.size);
  try {
    return await putBlob(to, digest, size === 0 ? Readable.from([]) : await from.read(digest, { start: 0, end: size - 1 }));
  } catch (error) {
    if (error instanceof DigestMismatch) return "damaged";
    if (error instanceof NoSuchBlob) return undefined;
    throw error;
  }
}

/** Digests of `from` that `to` lacks. Both lists are ascending. */
async function* missingBlobs(from: BlobStore, to: BlobStore, onPresent: () => void): AsyncGenerator<string, undefined> {
  const targets = eachOf(to.list());
  let target = await targets.next();
  for await (const { digest } of eachOf(from.list())) {
    while (!target.done && target.value.digest < digest) target = await targets.next();
    if (!target.done && target.value.digest === digest) onPresent();
    else yield digest;
  }
  return undefined;
}

async function* eachOf(batches: AsyncIterable<readonly ListedBlob[]>): AsyncGenerator<ListedBlob, undefined> {
  for await (const batch of batches) yield* batch;
  return undefined;
}

async function countUnfinished(store: BlobStore): Promise<number> {
  let count = 0;
  for await (const _ of store.staleUploads(ALWAYS)) count++;
  for await (const names of store.staged.list()) count += names.length;
  return count;
}
