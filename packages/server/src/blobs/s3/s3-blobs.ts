/**
 * Stores blobs as objects `blobs/<algorithm>/<hex>` of a bucket, and pending uploads under `uploads/`. Several servers may
 * share the bucket. The database records the progress of uploads (upload-rows.ts).
 *
 * Written objects never change: a blob is copied to its key from an object whose digest was checked. S3 is strongly
 * consistent, so other servers see it at once.
 */
import { createWriteStream } from "node:fs";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Readable, Writable } from "node:stream";
import { pipeline } from "node:stream/promises";
import type { Store } from "../../db/store.ts";
import type { Log } from "../../lib/log.ts";
import { DIGEST_ALGORITHMS, parseDigest } from "../digest.ts";
import { ReaderLeft } from "../send-file.ts";
import { sendStream } from "../send-stream.ts";
import type { StagedFiles } from "../staged-files.ts";
import {
  type BlobFacts,
  type BlobStore,
  type ByteRange,
  DigestMismatch,
  type ListedBlob,
  NoSuchBlob,
  NoSuchUpload,
  type UploadUse,
} from "../store.ts";
import { assertUploadName, BusyUploads, isUploadName, UploadHashes } from "../uploads.ts";
import { readObject } from "./read-object.ts";
import { S3Append, type UploadPlace } from "./s3-append.ts";
import { S3Bucket } from "./s3-bucket.ts";
import { blobKey, commitHeld, commitSmall, discard } from "./s3-commit.ts";
import { NoSuchObject } from "./s3-errors.ts";
import type { S3BucketOptions } from "./s3-requests.ts";
import { createS3StagedFiles } from "./s3-staged-files.ts";
import { abortCopies, copiedDigest, staleUploads } from "./stale-uploads.ts";
import { findUpload, holdForCommit, letGo } from "./upload-rows.ts";

export interface S3BlobsOptions extends S3BucketOptions {
  readonly store: Store;
  /** Whether clients may download from the bucket. */
  readonly redirects?: boolean;
}

export function createS3Blobs(options: S3BlobsOptions): S3Blobs {
  return new S3Blobs(options);
}

/** A client begins its download at once, but may wait for others first. */
const URL_SECONDS = 15 * 60;

export class S3Blobs implements BlobStore {
  readonly bucket: S3Bucket;
  readonly staged: StagedFiles;
  readonly #place: UploadPlace;
  readonly #log: Log;
  readonly #redirects: boolean;
  /** The database rejects concurrent use of an upload by several servers. */
  readonly #busy = new BusyUploads();
  /** Uploads that only this server continues, until they are aborted. */
  readonly #whole = new Map<string, S3Append>();
  readonly #hashes = new UploadHashes();
  /** Uploads that this server has committed, so that it knows their objects. */
  readonly #committed = new Set<string>();

  constructor(options: S3BlobsOptions) {
    this.bucket = new S3Bucket(options);
    this.staged = createS3StagedFiles(this.bucket);
    this.#place = { store: options.store, bucket: this.bucket };
    this.#log = options.log;
    this.#redirects = options.redirects === true;
  }

  append(upload: string, bytes: Readable, offset: number, use: UploadUse = "resumable"): Promise<number> {
    return this.#busy.use(upload, async (progress) => {
      assertUploadName(upload);
      const append =
        use === "whole" && offset === 0
          ? S3Append.whole(this.#place, upload)
          : await S3Append.resume(this.#place, upload, offset, this.#hashes.take(upload, offset));
      progress.size = offset;
      if (use === "whole") this.#whole.set(upload, append);
      try {
        await append.run(bytes);
      } catch (error) {
        if (append.holder !== undefined) await letGo(this.#place.store, upload, append.holder).catch(() => {});
        throw error;
      }
      if (use === "resumable" && append.hash !== undefined) this.#hashes.keep(upload, append.size, append.hash);
      return append.size;
    });
  }

  async sizeOfUpload(upload: string): Promise<number | undefined> {
    if (!isUploadName(upload)) return undefined;
    return this.#whole.get(upload)?.size ?? (await findUpload(this.#place.store.reader, upload))?.size;
  }

  async commit(upload: string, digest: string): Promise<{ size: number }> {
    const wanted = parseDigest(digest);
    if (wanted === undefined) throw new DigestMismatch(`${digest} is not a digest`);
    assertUploadName(upload);
    try {
      return await this.#busy.use(upload, async () => {
        const whole = this.#whole.get(upload);
        if (whole !== undefined && whole.holder === undefined) return await commitSmall(this.#place, whole, wanted);
        const held = await this.#hold(upload, whole);
        try {
          const committed = await commitHeld(this.#place, held, wanted, whole);
          this.#committed.add(upload);
          return committed;
        } finally {
          if (whole === undefined) await letGo(this.#place.store, upload, held.holder).catch(() => {});
        }
      });
    } catch (error) {
      if (error instanceof DigestMismatch) await this.abort(upload);
      throw error;
    }
  }

  async #hold(upload: string, whole: S3Append | undefined) {
    if (whole?.holder === undefined) return await holdForCommit(this.#place.store, upload);
    const row = await findUpload(this.#place.store.reader, upload);
    if (row === undefined) throw new NoSuchUpload(upload);
    return { row, holder: whole.holder };
  }

  async abort(upload: string): Promise<void> {
    const copied = copiedDigest(upload);
    if (copied !== undefined) return await abortCopies(this.bucket, copied);
    if (!isUploadName(upload)) return;
    const whole = this.#whole.get(upload);
    const isKnown = this.#committed.has(upload);
    this.#hashes.delete(upload);
    this.#committed.delete(upload);
    this.#whole.delete(upload);
    if (whole !== undefined && whole.holder === undefined) return;
    await discard(this.#place, upload, isKnown);
  }

  staleUploads(before: Date): AsyncIterable<string> {
    return staleUploads(this.#place, before, (upload) => this.#busy.has(upload));
  }

  async stat(digest: string): Promise<BlobFacts | undefined> {
    const parsed = parseDigest(digest);
    if (parsed === undefined) return undefined;
    return this.bucket.head(blobKey(parsed)).catch((error: unknown) => {
      if (error instanceof NoSuchObject) return undefined;
      throw error;
    });
  }

  /** A bucket does not lose objects by itself, and a request for each blob of each manifest would cost too much. */
  async hasLost(): Promise<boolean> {
    return false;
  }

  async read(digest: string, range?: ByteRange): Promise<Readable> {
    const parsed = parseDigest(digest);
    if (parsed === undefined) throw new NoSuchBlob(digest);
    return readObject(this.bucket, blobKey(parsed), range).catch((error: unknown) => {
      if (!(error instanceof NoSuchObject)) throw error;
      this.#log.error({ digest }, "the object of a blob is missing; push the content again");
      throw new NoSuchBlob(digest);
    });
  }

  async withFile<T>(digest: string, size: number, work: (path: string) => Promise<T>): Promise<T> {
    const folder = await mkdtemp(join(tmpdir(), "holt-blob-"));
    try {
      const path = join(folder, "blob");
      await pipeline(size === 0 ? [] : await this.read(digest, { start: 0, end: size - 1 }), createWriteStream(path, { mode: 0o600 }));
      return await work(path);
    } finally {
      await rm(folder, { recursive: true, force: true });
    }
  }

  async send(digest: string, range: ByteRange, begin: () => Writable): Promise<void> {
    const bytes = await this.read(digest, range);
    try {
      await sendStream(bytes, begin());
    } catch (error) {
      if (!(error instanceof ReaderLeft)) throw error;
    } finally {
      bytes.destroy();
    }
  }

  async remove(digest: string, signal?: AbortSignal): Promise<void> {
    const parsed = parseDigest(digest);
    if (parsed !== undefined) await this.bucket.remove(blobKey(parsed), signal);
  }

  async *list(after = ""): AsyncIterable<readonly ListedBlob[]> {
    for (const algorithm of DIGEST_ALGORITHMS) {
      const folder = `blobs/${algorithm}/`;
      if (`${algorithm}:g` <= after) continue;
      const start = after.startsWith(`${algorithm}:`) ? `${folder}${after.slice(algorithm.length + 1)}` : "";
      for await (const objects of this.bucket.list(folder, start)) {
        const blobs = objects.map(({ key, size, time }) => ({ digest: `${algorithm}:${key.slice(folder.length)}`, facts: { size, time } }));
        yield blobs.filter(({ digest }) => parseDigest(digest) !== undefined);
      }
    }
  }

  async urlOf(digest: string, headers: Readonly<Record<string, string | number | undefined>>): Promise<string | undefined> {
    const parsed = parseDigest(digest);
    if (parsed === undefined || !this.#redirects) return undefined;
    const textOf = (name: string) => (headers[name] === undefined ? undefined : String(headers[name]));
    const signed = {
      contentType: textOf("content-type"),
      contentDisposition: textOf("content-disposition"),
      cacheControl: textOf("cache-control"),
    };
    return this.bucket.presign(blobKey(parsed), signed, URL_SECONDS);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.bucket[Symbol.dispose]();
  }
}
