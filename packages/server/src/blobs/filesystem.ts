/**
 * Blobs in a folder: `blobs/<algorithm>/<first two digits>/<hex>`, and the uploads under way in `uploads/`. Several servers may share the folder (NFS and the like).
 *
 * The first bytes of a file never change once they are written: uploads are only appended to. So even a second server that appends to an upload
 * while it becomes a blob can only make the file longer, and who reads no further than the blob's recorded size sees nothing of it.
 */
import { createHash, type Hash } from "node:crypto";
import { close as closeFd, createReadStream, constants as flags, mkdirSync, open as openFd } from "node:fs";
import { copyFile, type FileHandle, link, mkdir, open, opendir, readdir, rename, rm, stat } from "node:fs/promises";
import { dirname, join } from "node:path";
import type { Readable, Writable } from "node:stream";
import { promisify } from "node:util";
import type { Log } from "../lib/log.ts";
import { BUFFER_SIZE } from "./buffers.ts";
import { type Digest, type DigestAlgorithm, parseDigest } from "./digest.ts";
import { appendStream } from "./file-stream.ts";
import { ReaderLeft, sendFile } from "./send-file.ts";
import { codeOf, meaningOf } from "./storage-error.ts";
import { type BlobStore, type ByteRange, DigestMismatch, NoSuchBlob, NoSuchUpload, RangeMismatch } from "./store.ts";

export interface FilesystemBlobsOptions {
  /** The folder in which `blobs` and `uploads` are. */
  readonly dataDir: string;
  readonly log: Log;
}

/** @throws Error for the operator where the folder cannot be used */
export function createFilesystemBlobs(options: FilesystemBlobsOptions): BlobStore {
  return new FilesystemBlobs(options);
}

const ALGORITHMS: readonly DigestAlgorithm[] = ["sha256", "sha512"];
const UPLOAD_NAME = /^[a-z0-9-]{1,128}$/;
/** How many uploads' hashes are remembered; the others' bytes are read again at their commit. */
const MAX_HASHES = 4096;
/** About so many digests are listed at once. */
const LIST_SIZE = 200;

/** SHA-256 of the first `size` bytes of an upload. */
interface RunningHash {
  readonly size: number;
  readonly hash: Hash;
}

class FilesystemBlobs implements BlobStore {
  readonly #blobs: string;
  readonly #uploads: string;
  readonly #log: Log;
  readonly #busy = new Map<string, { size: number }>();
  readonly #hashes = new Map<string, RunningHash>();
  /** Committed, and not aborted yet. */
  readonly #committed = new Set<string>();

  constructor({ dataDir, log }: FilesystemBlobsOptions) {
    this.#blobs = join(dataDir, "blobs");
    this.#uploads = join(dataDir, "uploads");
    this.#log = log;
    try {
      for (const folder of [this.#uploads, ...ALGORITHMS.map((algorithm) => join(this.#blobs, algorithm))])
        mkdirSync(folder, { recursive: true, mode: 0o700 });
    } catch (error) {
      throw new Error(`cannot make a folder for blobs in ${dataDir}: ${(error as Error).message}`, { cause: error });
    }
  }

  async append(upload: string, bytes: Readable, offset: number): Promise<number> {
    try {
      return await this.#exclusively(upload, async (progress) => {
        await using file = await this.#openForAppending(upload, offset);
        const { size } = await file.stat();
        progress.size = size;
        if (size !== offset) throw new RangeMismatch(size);
        return await this.#appendTo(file, upload, bytes, progress);
      });
    } catch (error) {
      throw meaningOf(error, "an upload", this.#log);
    }
  }

  #openForAppending(upload: string, offset: number): Promise<FileHandle> {
    const path = this.#uploadPath(upload);
    if (offset === 0) return open(path, "a", 0o600);
    return open(path, flags.O_WRONLY | flags.O_APPEND).catch((error: unknown) => {
      throw codeOf(error) === "ENOENT" ? new RangeMismatch(0) : error;
    });
  }

  async #appendTo(file: FileHandle, upload: string, bytes: Readable, progress: { size: number }): Promise<number> {
    const offset = progress.size;
    const known = this.#takeHash(upload, offset);
    try {
      const onWritten = (length: number) => {
        progress.size += length;
      };
      await appendStream(file, bytes, (chunk) => known?.update(chunk), onWritten);
    } catch (error) {
      await takeBack(file, offset, progress.size).catch((reason: unknown) => this.#log.warn({ err: reason }, "an upload was not cut"));
      throw error;
    }
    if (known !== undefined) this.#keepHash(upload, { size: progress.size, hash: known });
    return progress.size;
  }

  async sizeOfUpload(upload: string): Promise<number | undefined> {
    if (!UPLOAD_NAME.test(upload)) return undefined;
    return this.#busy.get(upload)?.size ?? (await statOrNothing(this.#uploadPath(upload)))?.size;
  }

  async commit(upload: string, digest: string): Promise<{ size: number }> {
    const wanted = parseDigest(digest);
    if (wanted === undefined) throw new DigestMismatch(`${digest} is not a digest`);
    try {
      return await this.#exclusively(upload, async () => {
        const size = await this.#verify(upload, wanted);
        this.#committed.add(upload);
        await this.#place(this.#uploadPath(upload), this.#blobPath(wanted), size);
        return { size };
      });
    } catch (error) {
      if (error instanceof DigestMismatch) await this.abort(upload);
      throw meaningOf(error, "a blob", this.#log);
    }
  }

  /** The upload's size; its bytes are durable then, and have that digest. */
  async #verify(upload: string, wanted: Digest): Promise<number> {
    await using file = await open(this.#uploadPath(upload), "r").catch((error: unknown) => {
      throw codeOf(error) === "ENOENT" ? new NoSuchUpload(upload) : error;
    });
    const { size } = await file.stat();
    const known = wanted.algorithm === "sha256" ? this.#hashes.get(upload) : undefined;
    const hash = known?.size === size ? known.hash.copy() : await hashOf(file, size, wanted.algorithm);
    const actual = hash.digest("hex");
    if (actual !== wanted.hex) throw new DigestMismatch(`the bytes have the digest ${wanted.algorithm}:${actual}`);
    await file.sync();
    return size;
  }

  async #place(source: string, target: string, size: number): Promise<void> {
    const folder = dirname(target);
    for (;;) {
      try {
        await link(source, target);
        break;
      } catch (error) {
        const code = codeOf(error);
        if (code === "ENOENT") {
          // Durable itself before anything in it can be.
          await mkdir(folder, { mode: 0o700 }).catch(ignore("EEXIST"));
          await syncFolder(dirname(folder));
        } else if (code === "EEXIST") {
          const present = (await statOrNothing(target))?.size;
          if (present !== undefined && present >= size) break;
          // Nobody here leaves half a file: the disk did, or somebody else.
          if (present !== undefined) return await replaceByCopy(source, target);
        } else if (WITHOUT_LINKS.has(code)) {
          return await replaceByCopy(source, target);
        } else {
          throw error;
        }
      }
    }
    // Also where the blob was there: whoever put it there may not have come so far yet.
    await syncFolder(folder);
  }

  async abort(upload: string): Promise<void> {
    if (!UPLOAD_NAME.test(upload)) return;
    this.#hashes.delete(upload);
    this.#committed.delete(upload);
    await rm(this.#uploadPath(upload), { force: true });
  }

  async *staleUploads(before: Date): AsyncIterable<string> {
    for await (const { name } of await opendir(this.#uploads)) {
      if (!UPLOAD_NAME.test(name) || this.#busy.has(name)) continue;
      const found = await statOrNothing(join(this.#uploads, name));
      if (found !== undefined && found.mtime < before) yield name;
    }
  }

  async stat(digest: string): Promise<{ size: number; time: Date } | undefined> {
    const parsed = parseDigest(digest);
    const found = parsed === undefined ? undefined : await statOrNothing(this.#blobPath(parsed));
    return found === undefined ? undefined : { size: found.size, time: found.mtime };
  }

  async read(digest: string, range?: ByteRange): Promise<Readable> {
    const fd = await this.#openBlob(digest);
    // A plain descriptor: streams on the handles of node:fs/promises take a third longer.
    return createReadStream("", { fd, highWaterMark: BUFFER_SIZE, ...range });
  }

  async send(digest: string, { start, end }: ByteRange, begin: () => Writable): Promise<void> {
    const fd = await this.#openBlob(digest);
    try {
      await sendFile(fd, start, end, begin());
    } catch (error) {
      if (!(error instanceof ReaderLeft)) throw meaningOf(error, "a blob", this.#log);
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
      if (codeOf(error) === "ENOENT") throw new NoSuchBlob(digest);
      throw meaningOf(error, "a blob", this.#log);
    }
  }

  async remove(digest: string): Promise<void> {
    const parsed = parseDigest(digest);
    if (parsed !== undefined) await rm(this.#blobPath(parsed), { force: true });
  }

  async *list(after = ""): AsyncIterable<readonly string[]> {
    const piece: string[] = [];
    for (const algorithm of ALGORITHMS) {
      const folders = (await readdir(join(this.#blobs, algorithm))).filter((name) => /^[0-9a-f]{2}$/.test(name)).sort();
      for (const folder of folders) {
        if (`${algorithm}:${folder}g` <= after) continue;
        const names = await readdir(join(this.#blobs, algorithm, folder));
        const digests = names.map((name) => `${algorithm}:${name}`).filter((digest) => digest > after && parseDigest(digest) !== undefined);
        piece.push(...digests.sort());
        if (piece.length >= LIST_SIZE) yield piece.splice(0);
      }
    }
    if (piece.length > 0) yield piece;
  }

  async [Symbol.asyncDispose](): Promise<void> {}

  /** Two requests for one upload at once are a client's mistake, or its second try while the first has not noticed yet that it is dead. */
  async #exclusively<T>(upload: string, work: (progress: { size: number }) => Promise<T>): Promise<T> {
    const other = this.#busy.get(upload);
    if (other !== undefined) throw new RangeMismatch(other.size);
    const progress = { size: 0 };
    this.#busy.set(upload, progress);
    try {
      return await work(progress);
    } finally {
      this.#busy.delete(upload);
    }
  }

  /** Taken out, so that a failure leaves none that has seen too much. */
  #takeHash(upload: string, offset: number): Hash | undefined {
    if (this.#committed.has(upload)) throw new NoSuchUpload(upload);
    const known = this.#hashes.get(upload);
    this.#hashes.delete(upload);
    if (offset === 0) return createHash("sha256");
    return known?.size === offset ? known.hash : undefined;
  }

  #keepHash(upload: string, known: RunningHash): void {
    const oldest = this.#hashes.keys().next();
    if (this.#hashes.size >= MAX_HASHES && !oldest.done) this.#hashes.delete(oldest.value);
    this.#hashes.set(upload, known);
  }

  #uploadPath(upload: string): string {
    if (!UPLOAD_NAME.test(upload)) throw new NoSuchUpload(upload);
    return join(this.#uploads, upload);
  }

  #blobPath({ algorithm, hex }: Digest): string {
    return join(this.#blobs, algorithm, hex.slice(0, 2), hex);
  }
}

/** File systems that have no hard links, or not that many of them. */
const WITHOUT_LINKS = new Set(["EPERM", "ENOTSUP", "EOPNOTSUPP", "ENOSYS", "EMLINK", "EXDEV"]);

async function replaceByCopy(source: string, target: string): Promise<void> {
  // A name that is found with the stale uploads if this is cut short.
  const copy = `${source}-copy`;
  await copyFile(source, copy);
  {
    await using file = await open(copy, "r+");
    await file.sync();
  }
  await rename(copy, target);
  await syncFolder(dirname(target));
}

/** Gives the space of an append that failed back to a full disk, unless another server has appended meanwhile. */
async function takeBack(file: FileHandle, offset: number, written: number): Promise<void> {
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

export async function syncFolder(path: string): Promise<void> {
  await using folder = await open(path, "r");
  await folder.sync();
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
