/**
 * One append to an upload in a bucket. Full parts go to a multipart upload as they arrive; one is sent while the next is
 * filled. The bytes after the last part become an object of their own, the tail, until the next append or the commit.
 */
import { createHash, type Hash, randomUUID } from "node:crypto";
import type { Readable } from "node:stream";
import { buffer } from "node:stream/consumers";
import type { Store } from "../../db/store.ts";
import { failedPrecondition } from "../../lib/errors.ts";
import { forEachChunk, OwnedChunks, release } from "../file-stream.ts";
import { PartBuffer } from "./part-buffer.ts";
import { readObject } from "./read-object.ts";
import type { S3Bucket, StoredPart } from "./s3-bucket.ts";
import { countParts, createRow, holdForAppend, recordProgress, type UploadRow } from "./upload-rows.ts";

/** S3 takes no more parts. */
const MAX_PARTS = 10_000;

/** Key of the object that the parts of an upload become. */
export function dataKey(upload: string): string {
  return `uploads/${upload}/data`;
}

export interface UploadPlace {
  readonly store: Store;
  readonly bucket: S3Bucket;
}

export class S3Append {
  readonly upload: string;
  /** Undefined while the upload has no row, because nothing is in the bucket yet. */
  holder: string | undefined;
  readonly #place: UploadPlace;
  readonly #isWhole: boolean;
  #hash: Hash | undefined;
  /** Bytes in full parts. */
  #stored = 0;
  #partCount = 0;
  #multipart: string | undefined;
  /** Key of the tail in the bucket, whose bytes are also at the start of the buffer. */
  #tail: string | undefined;
  /** Bytes that are hashed. Those of the tail are hashed before they are in a part. */
  #hashed = 0;
  /** Bytes that the database has recorded. */
  #recorded = 0;
  #filling = new PartBuffer();
  #spare: PartBuffer | undefined;
  #sending: Promise<void> | undefined;
  #failure: { readonly error: unknown } | undefined;

  private constructor(place: UploadPlace, upload: string, isWhole: boolean) {
    this.#place = place;
    this.upload = upload;
    this.#isWhole = isWhole;
  }

  /** An upload that stays in memory while it is small. */
  static whole(place: UploadPlace, upload: string): S3Append {
    const append = new S3Append(place, upload, true);
    append.#hash = createHash("sha256");
    return append;
  }

  /** @param known the hash of the bytes before the offset @throws RangeMismatch, NoSuchUpload */
  static async resume(place: UploadPlace, upload: string, offset: number, known: Hash | undefined): Promise<S3Append> {
    const { row, holder } = await holdForAppend(place.store, upload, offset);
    const append = new S3Append(place, upload, false);
    append.holder = holder;
    append.#hash = known;
    append.#stored = row.size - row.tail_size;
    append.#hashed = row.size;
    append.#recorded = row.size;
    append.#multipart = row.multipart ?? undefined;
    append.#tail = row.tail_size === 0 ? undefined : (row.tail ?? undefined);
    append.#partCount = await countParts(place.store.reader, upload);
    return append;
  }

  /** Bytes that survive this append. */
  get size(): number {
    return this.#isWhole ? this.#stored + this.#filling.length : this.#recorded;
  }

  /** Resolves at the end of the stream, or its failure, when all received bytes are stored. */
  async run(bytes: Readable): Promise<void> {
    if (this.#tail !== undefined) this.#filling.add(await buffer(await readObject(this.#place.bucket, this.#tail)));
    const isOwned = bytes instanceof OwnedChunks;
    try {
      await forEachChunk(bytes, (chunk) => {
        const waiting = this.#add(chunk);
        if (!isOwned) return waiting;
        if (waiting !== undefined) return waiting.then(() => release(chunk));
        release(chunk);
      });
    } finally {
      await this.#sending;
    }
    if (this.#failure !== undefined) throw this.#failure.error;
    this.#spare = undefined;
    this.#hashUpTo(this.#filling.bytes());
    if (!this.#isWhole) await this.#storeTail();
  }

  /** The bytes after the last part. */
  rest(): Buffer {
    return this.#filling.bytes();
  }

  /** The hash of all bytes; undefined if this server did not see all of them. */
  get hash(): Hash | undefined {
    return this.#hash;
  }

  /** Returns a promise if the caller must wait before it adds more. */
  #add(chunk: Buffer): Promise<void> | undefined {
    if (this.#failure !== undefined) throw this.#failure.error;
    const rest = chunk.subarray(this.#filling.add(chunk));
    if (!this.#filling.isFull) return undefined;
    if (this.#sending !== undefined) return this.#sending.then(() => this.#next(rest));
    return this.#next(rest);
  }

  #next(rest: Buffer): Promise<void> | undefined {
    if (this.#failure !== undefined) throw this.#failure.error;
    const full = this.#filling;
    this.#filling = this.#spare ?? new PartBuffer();
    this.#sending = this.#sendPart(full.bytes())
      .catch((error: unknown) => {
        this.#failure = { error };
      })
      .finally(() => {
        full.clear();
        this.#spare = full;
        this.#sending = undefined;
      });
    return rest.length > 0 ? this.#add(rest) : undefined;
  }

  async #sendPart(bytes: Buffer): Promise<void> {
    const { bucket } = this.#place;
    const part = this.#partCount + 1;
    if (part > MAX_PARTS) throw failedPrecondition("CONTENT_TOO_LARGE", `a blob has at most ${MAX_PARTS} parts of ${bytes.length} bytes`);
    this.#hashUpTo(bytes);
    const stored = await bucket.putPart(dataKey(this.upload), await this.#ensureMultipart(), part, bytes);
    await this.#record({ size: this.#stored + bytes.length, tail: null, tail_size: 0 }, { part, ...stored });
    this.#partCount = part;
    this.#stored += bytes.length;
    await this.#dropTail();
  }

  async #ensureMultipart(): Promise<string> {
    if (this.#multipart !== undefined) return this.#multipart;
    // The row comes first: through it, collection finds what a crashed server leaves in the bucket.
    this.holder ??= await createRow(this.#place.store, this.upload);
    this.#multipart = await this.#place.bucket.begin(dataKey(this.upload), true);
    await this.#record({ multipart: this.#multipart });
    return this.#multipart;
  }

  /** Keeps the bytes after the last part for whichever server continues. */
  async #storeTail(): Promise<void> {
    const rest = this.#filling.bytes();
    const size = this.#stored + rest.length;
    if (size === this.#recorded) return await this.#record({ holder: null, holder_until: null });
    const tail = rest.length === 0 ? null : `uploads/${this.upload}/tail-${randomUUID()}`;
    if (tail !== null) await this.#place.bucket.put(tail, rest);
    await this.#record({ size, tail, tail_size: rest.length, holder: null, holder_until: null });
    await this.#dropTail();
  }

  async #record(progress: Partial<UploadRow>, part?: StoredPart & { readonly part: number }): Promise<void> {
    const sha256 = this.#hash?.copy().digest("hex") ?? null;
    const place = { upload: this.upload, holder: this.holder ?? "" };
    await recordProgress(this.#place.store, place, { ...progress, ...(progress.size !== undefined && { sha256 }) }, part);
    this.#recorded = progress.size ?? this.#recorded;
  }

  /** If this fails, the object is deleted with the upload. */
  async #dropTail(): Promise<void> {
    const tail = this.#tail;
    this.#tail = undefined;
    if (tail !== undefined) await this.#place.bucket.remove(tail).catch(() => {});
  }

  #hashUpTo(bytes: Buffer): void {
    this.#hash?.update(bytes.subarray(this.#hashed - this.#stored));
    this.#hashed = this.#stored + bytes.length;
  }
}
