/**
 * Stores blobs as files `blobs/<algorithm>/<first two digits>/<hex>`, and pending uploads in `uploads/`. Several
 * servers may share the folder, e.g. over NFS.
 *
 * Written bytes never change, because uploads are append-only. A second server that appends to an upload during its
 * commit can only make the file longer. Readers stop at the recorded size of the blob, so they do not see such bytes.
 */
import { createHash, type Hash } from "node:crypto";
import { close as closeFd, createReadStream, constants as flags, mkdirSync, open as openFd } from "node:fs";
import { copyFile, type FileHandle, link, mkdir, open, opendir, readdir, rename, rm, stat } from "node:fs/promises";
import { dirname, join } from "node:path";
import type { Readable, Writable } from "node:stream";
import { promisify } from "node:util";
import type { Log } from "../lib/log.ts";
import { BUFFER_SIZE } from "./buffers.ts";
import { DIGEST_ALGORITHMS, type Digest, type DigestAlgorithm, parseDigest } from "./digest.ts";
import { appendStream } from "./file-stream.ts";
import { ReaderLeft, sendFile } from "./send-file.ts";
import { createStagedFiles, type StagedFiles } from "./staged-files.ts";
import { codeOf, errorFromStorage } from "./storage-error.ts";
import { type BlobStore, type ByteRange, DigestMismatch, type ListedBlob, NoSuchBlob, NoSuchUpload, RangeMismatch } from "./store.ts";
import { syncFolder } from "./sync-folder.ts";
import { assertUploadName, BusyUploads, isUploadName, UploadHashes, type UploadProgress } from "./uploads.ts";

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
  readonly #uploads: string;
  readonly #log: Log;
  readonly #busy = new BusyUploads();
  readonly #hashes = new UploadHashes();
  /** Uploads that are committed but not aborted yet. */
  readonly #committed = new Set<string>();

  constructor({ dataDir, log }: FilesystemBlobsOptions) {
    this.#blobs = join(dataDir, "blobs");
    this.#uploads = join(dataDir, "uploads");
    this.#log = log;
    try {
      for (const folder of [this.#uploads, ...DIGEST_ALGORITHMS.map((algorithm) => join(this.#blobs, algorithm))])
        mkdirSync(folder, { recursive: true, mode: 0o700 });
    } catch (error) {
      throw new Error(`cannot create a folder for blobs in ${dataDir}: ${(error as Error).message}`, { cause: error });
    }
    this.staged = createStagedFiles({ dataDir, log });
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

  async sizeOfUpload(upload: string): Promise<number | undefined> {
    if (!isUploadName(upload)) return undefined;
    return this.#busy.sizeOf(upload) ?? (await statOrNothing(this.#uploadPath(upload)))?.size;
  }

  async commit(upload: string, digest: string): Promise<{ size: number }> {
    const wanted = parseDigest(digest);
    if (wanted === undefined) throw new DigestMismatch(`${digest} is not a digest`);
    try {
      return await this.#busy.use(upload, async () => {
        const size = await this.#verify(upload, wanted);
        this.#committed.add(upload);
        await this.#link(this.#uploadPath(upload), this.#blobPath(wanted), size);
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

  /** Makes the upload's file available under the blob's name, durably. */
  async #link(source: string, target: string, size: number): Promise<void> {
    const folder = dirname(target);
    for (;;) {
      try {
        await link(source, target);
        break;
      } catch (error) {
        const code = codeOf(error);
        if (code === "ENOENT") {
          // The folder must be durable before its files can be.
          await mkdir(folder, { mode: 0o700 }).catch(ignore("EEXIST"));
          await syncFolder(dirname(folder));
        } else if (code === "EEXIST") {
          const present = (await statOrNothing(target))?.size;
          if (present !== undefined && present >= size) break;
          // Holt never leaves a partial file, so the disk or another program truncated it.
          if (present !== undefined) return await replaceByCopy(source, target);
        } else if (NO_LINK_CODES.has(code)) {
          return await replaceByCopy(source, target);
        } else {
          throw error;
        }
      }
    }
    // Also for an existing blob: the server that linked it may not have synced the folder yet.
    await syncFolder(folder);
  }

  async abort(upload: string): Promise<void> {
    if (!isUploadName(upload)) return;
    this.#hashes.delete(upload);
    this.#committed.delete(upload);
    await rm(this.#uploadPath(upload), { force: true });
  }

  async *staleUploads(before: Date): AsyncIterable<string> {
    for await (const { name } of await opendir(this.#uploads)) {
      if (!isUploadName(name) || this.#busy.has(name)) continue;
      const found = await statOrNothing(join(this.#uploads, name));
      if (found !== undefined && found.mtime < before) yield name;
    }
  }

  async stat(digest: string): Promise<{ size: number; time: Date } | undefined> {
    const parsed = parseDigest(digest);
    const found = parsed === undefined ? undefined : await statOrNothing(this.#blobPath(parsed));
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

  #uploadPath(upload: string): string {
    assertUploadName(upload);
    return join(this.#uploads, upload);
  }

  #blobPath({ algorithm, hex }: Digest): string {
    return join(this.#blobs, algorithm, hex.slice(0, 2), hex);
  }
}

/** Error codes of file systems without hard links, or with too few of them. */
const NO_LINK_CODES = new Set(["EPERM", "ENOTSUP", "EOPNOTSUPP", "ENOSYS", "EMLINK", "EXDEV"]);

async function replaceByCopy(source: string, target: string): Promise<void> {
  // If the server stops in between, staleUploads finds the copy by this name.
  const copy = `${source}-copy`;
  await copyFile(source, copy);
  {
    await using file = await open(copy, "r+");
    await file.sync();
  }
  await rename(copy, target);
  await syncFolder(dirname(target));
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

function statOrNothing(path: string): Promise<{ size: number; mtime: Date } | undefined> {
  return stat(path).catch(ignore("ENOENT"));
}

function ignore(code: string): (error: unknown) => undefined {
  return (error) => {
    if (codeOf(error) !== code) throw error;
    return undefined;
  };
}

const openAsync = promisify(openFd);
