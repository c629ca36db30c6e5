/**
 * Stores blobs as files `blobs/<algorithm>/<first two digits>/<hex>`. filesystem-uploads.ts stores pending uploads in
 * `uploads/`. Several servers may share the folder, e.g. over NFS.
 */
import { close as closeFd, createReadStream, open as openFd } from "node:fs";
import { readdir, rm } from "node:fs/promises";
import { join } from "node:path";
import type { Readable, Writable } from "node:stream";
import { promisify } from "node:util";
import { createFolders } from "../lib/create-folders.ts";
import type { Log } from "../lib/log.ts";
import { BUFFER_SIZE } from "./buffers.ts";
import { DIGEST_ALGORITHMS, type Digest, parseDigest } from "./digest.ts";
import { FilesystemUploads } from "./filesystem-uploads.ts";
import { ReaderLeft, sendFile } from "./send-file.ts";
import { createStagedFiles, type StagedFiles } from "./staged-files.ts";
import { statFile } from "./stat-file.ts";
import { codeOf, errorFromStorage } from "./storage-error.ts";
import { type BlobStore, type ByteRange, DigestMismatch, type ListedBlob, NoSuchBlob } from "./store.ts";

export interface FilesystemBlobsOptions {
  /** The folder that contains `blobs` and `uploads`. */
  readonly dataDir: string;
  readonly log: Log;
}

/** @throws Error for the operator if the folder is unusable */
export function createFilesystemBlobs(options: FilesystemBlobsOptions): BlobStore {
  return new FilesystemBlobs(options);
}

/** Approximate number of digests per batch of `list`. */
const LIST_BATCH_SIZE = 200;

class FilesystemBlobs implements BlobStore {
  readonly staged: StagedFiles;
  readonly #blobs: string;
  readonly #uploads: FilesystemUploads;
  readonly #log: Log;

  constructor({ dataDir, log }: FilesystemBlobsOptions) {
    this.#blobs = join(dataDir, "blobs");
    this.#log = log;
    const uploads = join(dataDir, "uploads");
    try {
      for (const folder of [uploads, ...DIGEST_ALGORITHMS.map((algorithm) => join(this.#blobs, algorithm))]) createFolders(folder);
    } catch (error) {
      throw new Error(`cannot create a folder for blobs in ${dataDir}: ${(error as Error).message}`, { cause: error });
    }
    this.#uploads = new FilesystemUploads(uploads, log);
    this.staged = createStagedFiles({ dataDir, log });
  }

  append(upload: string, bytes: Readable, offset: number): Promise<number> {
    return this.#uploads.append(upload, bytes, offset);
  }

  sizeOfUpload(upload: string): Promise<number | undefined> {
    return this.#uploads.sizeOf(upload);
  }

  async commit(upload: string, digest: string): Promise<{ size: number }> {
    const parsed = parseDigest(digest);
    if (parsed === undefined) throw new DigestMismatch(`${digest} is not a digest`);
    return this.#uploads.commit(upload, parsed, this.#blobPath(parsed));
  }

  abort(upload: string): Promise<void> {
    return this.#uploads.abort(upload);
  }

  staleUploads(before: Date): AsyncIterable<string> {
    return this.#uploads.stale(before);
  }

  async stat(digest: string): Promise<{ size: number; time: Date } | undefined> {
    const parsed = parseDigest(digest);
    const found = parsed === undefined ? undefined : await statFile(this.#blobPath(parsed));
    return found === undefined ? undefined : { size: found.size, time: found.mtime };
  }

  async hasLost(digest: string, size: number): Promise<boolean> {
    const found = await this.stat(digest).catch((error: unknown) => {
      throw errorFromStorage(error, "a blob", this.#log);
    });
    if (found !== undefined && found.size >= size) return false;
    this.#log.error({ digest, size, found: found?.size }, "the file of a blob is missing or too short; push the content again");
    return true;
  }

  async read(digest: string, range?: ByteRange): Promise<Readable> {
    const fd = await this.#openBlob(digest);
    // Streams on handles of node:fs/promises take a third longer than on a plain descriptor.
    return createReadStream("", { fd, highWaterMark: BUFFER_SIZE, ...range });
  }

  async withFile<T>(digest: string, _size: number, work: (path: string) => Promise<T>): Promise<T> {
    const parsed = parseDigest(digest);
    if (parsed === undefined) throw new NoSuchBlob(digest);
    return await work(this.#blobPath(parsed));
  }

  async send(digest: string, { start, end }: ByteRange, begin: () => Writable): Promise<void> {
    const fd = await this.#openBlob(digest);
    try {
      await sendFile(fd, start, end, begin());
    } catch (error) {
      if (!(error instanceof ReaderLeft)) throw errorFromStorage(error, "a blob", this.#log);
    } finally {
      closeFd(fd, () => {});
    }
  }

  async #openBlob(digest: string): Promise<number> {
    const parsed = parseDigest(digest);
    if (parsed === undefined) throw new NoSuchBlob(digest);
    try {
      return await openAsync(this.#blobPath(parsed), "r");
    } catch (error) {
      if (codeOf(error) !== "ENOENT") throw errorFromStorage(error, "a blob", this.#log);
      this.#log.error({ digest }, "the file of a blob is missing; push the content again");
      throw new NoSuchBlob(digest);
    }
  }

  async remove(digest: string, signal?: AbortSignal): Promise<void> {
    const parsed = parseDigest(digest);
    signal?.throwIfAborted();
    if (parsed !== undefined) await rm(this.#blobPath(parsed), { force: true });
  }

  async *list(after = ""): AsyncIterable<readonly ListedBlob[]> {
    const batch: ListedBlob[] = [];
    for (const algorithm of DIGEST_ALGORITHMS) {
      const folders = (await readdir(join(this.#blobs, algorithm))).filter((name) => /^[0-9a-f]{2}$/.test(name)).sort();
      for (const folder of folders) {
        if (`${algorithm}:${folder}g` <= after) continue;
        const names = await readdir(join(this.#blobs, algorithm, folder));
        const digests = names.map((name) => `${algorithm}:${name}`).filter((digest) => digest > after && parseDigest(digest) !== undefined);
        batch.push(...digests.sort().map((digest) => ({ digest })));
        if (batch.length >= LIST_BATCH_SIZE) yield batch.splice(0);
      }
    }
    if (batch.length > 0) yield batch;
  }

  async [Symbol.asyncDispose](): Promise<void> {}

  #blobPath({ algorithm, hex }: Digest): string {
    return join(this.#blobs, algorithm, hex.slice(0, 2), hex);
  }
}

const openAsync = promisify(openFd);
