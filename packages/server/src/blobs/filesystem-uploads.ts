/**
 * Stores pending uploads as files, and turns them into blobs.
 *
 * Written bytes never change, because uploads are append-only. A second server that appends to an upload during its
 * commit can only make the file longer. Readers stop at the recorded size of the blob, so they do not see such bytes.
 */
import { createHash, type Hash } from "node:crypto";
import { constants as flags } from "node:fs";
import { type FileHandle, open, opendir, rm } from "node:fs/promises";
import { join } from "node:path";
import type { Readable } from "node:stream";
import type { Log } from "../lib/log.ts";
import { BUFFER_SIZE } from "./buffers.ts";
import type { Digest, DigestAlgorithm } from "./digest.ts";
import { appendStream } from "./file-stream.ts";
import { linkFile } from "./link-file.ts";
import { statFile } from "./stat-file.ts";
import { codeOf, errorFromStorage } from "./storage-error.ts";
import { DigestMismatch, NoSuchUpload, RangeMismatch } from "./store.ts";
import { assertUploadName, BusyUploads, isUploadName, UploadHashes, type UploadProgress } from "./uploads.ts";

/** Implements the methods of `BlobStore` for uploads. */
export class FilesystemUploads {
  readonly #folder: string;
  readonly #log: Log;
  readonly #busy = new BusyUploads();
  readonly #hashes = new UploadHashes();
  /** Uploads that are committed but not aborted yet. */
  readonly #committed = new Set<string>();

  constructor(folder: string, log: Log) {
    this.#folder = folder;
    this.#log = log;
  }

  async append(upload: string, bytes: Readable, offset: number): Promise<number> {
    try {
      return await this.#busy.use(upload, async (progress) => {
        await using file = await this.#openForAppending(upload, offset);
        const { size } = await file.stat();
        progress.size = size;
        if (size !== offset) throw new RangeMismatch(size);
        return await this.#appendTo(file, upload, bytes, progress);
      });
    } catch (error) {
      throw errorFromStorage(error, "an upload", this.#log);
    }
  }

  #openForAppending(upload: string, offset: number): Promise<FileHandle> {
    const path = this.#uploadPath(upload);
    if (offset === 0) return open(path, "a", 0o600);
    return open(path, flags.O_WRONLY | flags.O_APPEND).catch((error: unknown) => {
      throw codeOf(error) === "ENOENT" ? new RangeMismatch(0) : error;
    });
  }

  async #appendTo(file: FileHandle, upload: string, bytes: Readable, progress: UploadProgress): Promise<number> {
    if (this.#committed.has(upload)) throw new NoSuchUpload(upload);
    const offset = progress.size;
    const known = this.#hashes.take(upload, offset);
    try {
      const onWritten = (length: number) => {
        progress.size += length;
      };
      await appendStream(file, bytes, (chunk) => known?.update(chunk), onWritten);
    } catch (error) {
      await undoAppend(file, offset, progress.size).catch((reason: unknown) =>
        this.#log.warn({ err: reason }, "cannot truncate an upload after a failed append"),
      );
      throw error;
    }
    if (known !== undefined) this.#hashes.keep(upload, progress.size, known);
    return progress.size;
  }

  async sizeOf(upload: string): Promise<number | undefined> {
    if (!isUploadName(upload)) return undefined;
    return this.#busy.sizeOf(upload) ?? (await statFile(this.#uploadPath(upload)))?.size;
  }

  /** @param blobPath where the blob's file belongs */
  async commit(upload: string, digest: Digest, blobPath: string): Promise<{ size: number }> {
    try {
      return await this.#busy.use(upload, async () => {
        const size = await this.#verify(upload, digest);
        this.#committed.add(upload);
        await linkFile(this.#uploadPath(upload), blobPath, size);
        return { size };
      });
    } catch (error) {
      if (error instanceof DigestMismatch) await this.abort(upload);
      throw errorFromStorage(error, "a blob", this.#log);
    }
  }

  /** Checks the digest and syncs the file. Returns the upload's size. */
  async #verify(upload: string, wanted: Digest): Promise<number> {
    await using file = await open(this.#uploadPath(upload), "r").catch((error: unknown) => {
      throw codeOf(error) === "ENOENT" ? new NoSuchUpload(upload) : error;
    });
    const { size } = await file.stat();
    const known = wanted.algorithm === "sha256" ? this.#hashes.copyOf(upload, size) : undefined;
    const hash = known ?? (await hashOf(file, size, wanted.algorithm));
    const actual = hash.digest("hex");
    if (actual !== wanted.hex) throw new DigestMismatch(`the bytes have the digest ${wanted.algorithm}:${actual}`);
    await file.sync();
    return size;
  }

  async abort(upload: string): Promise<void> {
    if (!isUploadName(upload)) return;
    this.#hashes.delete(upload);
    this.#committed.delete(upload);
    await rm(this.#uploadPath(upload), { force: true });
  }

  async *stale(before: Date): AsyncIterable<string> {
    for await (const { name } of await opendir(this.#folder)) {
      if (!isUploadName(name) || this.#busy.has(name)) continue;
      const found = await statFile(join(this.#folder, name));
      if (found !== undefined && found.mtime < before) yield name;
    }
  }

  #uploadPath(upload: string): string {
    assertUploadName(upload);
    return join(this.#folder, upload);
  }
}

/** Truncates the file to free the space of a failed append, unless another server has appended in the meantime. */
async function undoAppend(file: FileHandle, offset: number, written: number): Promise<void> {
  const { size } = await file.stat();
  if (size === written) await file.truncate(offset);
}

async function hashOf(file: FileHandle, size: number, algorithm: DigestAlgorithm): Promise<Hash> {
  const hash = createHash(algorithm);
  if (size === 0) return hash;
  const bytes = file.createReadStream({ start: 0, end: size - 1, highWaterMark: BUFFER_SIZE, autoClose: false });
  for await (const chunk of bytes) hash.update(chunk as Buffer);
  return hash;
}
