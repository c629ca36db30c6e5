/** Writes the files of feeds to the local disk, and stores them as blobs that all servers can read. */
import { createReadStream, createWriteStream } from "node:fs";
import { mkdir, mkdtemp, open, readdir, rm, stat } from "node:fs/promises";
import { join } from "node:path";
import { pipeline } from "node:stream/promises";
import { createGzip } from "node:zlib";
import { linkBlob } from "../../blobs/link-blob.ts";
import { putBlob } from "../../blobs/put-blob.ts";
import { type BlobStore, NoSuchBlob } from "../../blobs/store.ts";
import type { Store, WriteDb } from "../../db/store.ts";
import { hashBytes } from "../../lib/hash-bytes.ts";
import type { BuiltFeed, FeedFiles } from "./feed-build.ts";

/** A file in the blob store. */
export interface StoredFile {
  /** `sha256:` and the hash in hexadecimal digits. */
  readonly digest: string;
  readonly size: number;
}

export interface FeedFilesOptions {
  readonly store: Store;
  readonly blobs: BlobStore;
  /** The folder of the files that are being written. Servers may share it. */
  readonly scratch: string;
}

/** Age at which a file in the folder is removed, such as one of a server that was killed. */
const STALE_MS = 86_400_000;

/**
 * Calls `work` with two new files and stores them as blobs.
 * @param append writes the rows that refer to the blob, in the transaction that records it
 * @returns undefined if `work` does, and then nothing is stored
 */
export async function writeFeedFiles(
  options: FeedFilesOptions,
  work: (files: FeedFiles) => Promise<BuiltFeed | undefined>,
  append: (db: WriteDb, part: "data" | "index", file: StoredFile) => Promise<void>,
): Promise<{ readonly made: BuiltFeed; readonly data: StoredFile; readonly index: StoredFile } | undefined> {
  await using folder = await makeFolder(options.scratch);
  const paths = { data: join(folder.path, "data"), index: join(folder.path, "index") };
  const made = await writeBoth(paths, work);
  if (made === undefined) return undefined;
  const data = await storeFile(options, paths.data, (db, file) => append(db, "data", file));
  return { made, data, index: await storeFile(options, paths.index, (db, file) => append(db, "index", file)) };
}

async function writeBoth<T>(paths: { readonly data: string; readonly index: string }, work: (files: FeedFiles) => Promise<T>): Promise<T> {
  await using data = await open(paths.data, "wx+", 0o600);
  await using index = await open(paths.index, "wx+", 0o600);
  return await work({ data, index });
}

/** Stores a compressed copy of a file. */
export async function gzipFeedFile(
  options: FeedFilesOptions,
  { digest, size }: StoredFile,
  append: (db: WriteDb, file: StoredFile) => Promise<void>,
): Promise<StoredFile> {
  await using folder = await makeFolder(options.scratch);
  const path = join(folder.path, "gzip");
  const plain = await options.blobs.read(digest, { start: 0, end: size - 1 });
  await pipeline(plain, createGzip(), createWriteStream(path, { flags: "wx", mode: 0o600 }));
  return await storeFile(options, path, append);
}

async function storeFile(
  { store, blobs }: FeedFilesOptions,
  path: string,
  append: (db: WriteDb, file: StoredFile) => Promise<void>,
): Promise<StoredFile> {
  const file = { digest: `sha256:${await hashBytes(createReadStream(path), "sha256")}`, size: (await stat(path)).size };
  const storeBytes = () => putBlob(blobs, file.digest, createReadStream(path));
  await linkBlob(store, file.digest, storeBytes, (db) => append(db, file));
  return file;
}

/** Calls `work` with the files of a built feed. Undefined, without calling it, if one of them is lost. */
export async function withFeedFiles<T>(
  { blobs }: Pick<FeedFilesOptions, "blobs">,
  { data, index }: { readonly data: StoredFile; readonly index: StoredFile },
  work: (files: FeedFiles) => Promise<T>,
): Promise<T | undefined> {
  const found = async (dataPath: string, indexPath: string) => {
    await using files = await openBoth(dataPath, indexPath);
    return files && (await work(files));
  };
  const withIndex = (dataPath: string) => blobs.withFile(index.digest, index.size, (indexPath) => found(dataPath, indexPath));
  return await blobs.withFile(data.digest, data.size, withIndex).catch((error: unknown) => {
    if (error instanceof NoSuchBlob) return undefined;
    throw error;
  });
}

async function openBoth(dataPath: string, indexPath: string): Promise<(FeedFiles & AsyncDisposable) | undefined> {
  await using opened = new AsyncDisposableStack();
  try {
    const data = opened.use(await open(dataPath, "r"));
    const index = opened.use(await open(indexPath, "r"));
    const files = opened.move();
    return { data, index, [Symbol.asyncDispose]: () => files.disposeAsync() };
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ENOENT") return undefined;
    throw error;
  }
}

async function makeFolder(scratch: string): Promise<AsyncDisposable & { readonly path: string }> {
  await mkdir(scratch, { recursive: true, mode: 0o700 });
  const path = await mkdtemp(join(scratch, "build-"));
  return { path, [Symbol.asyncDispose]: () => rm(path, { recursive: true, force: true }) };
}

/** Removes what killed servers left behind, and the cache of earlier versions, which was in the same folder. */
export async function sweepScratch({ scratch }: Pick<FeedFilesOptions, "scratch">): Promise<void> {
  for (const name of await readdir(scratch).catch(() => [])) {
    const path = join(scratch, name);
    const found = await stat(path).catch(() => undefined);
    if (found !== undefined && Date.now() - found.mtimeMs > STALE_MS) await rm(path, { recursive: true, force: true });
  }
}
