/**
 * Stores files that arrive in chunks and are read once by their path: in a folder, `imports/<name>`. The database records
 * the owner of each file and its acknowledged size.
 */
import { existsSync, constants as flags } from "node:fs";
import { type FileHandle, open, opendir, rm } from "node:fs/promises";
import { join } from "node:path";
import { createFolders } from "../lib/create-folders.ts";
import type { Log } from "../lib/log.ts";
import { codeOf, errorFromStorage } from "./storage-error.ts";
import { syncFolder } from "./sync-folder.ts";

/** Appends to a new file. */
export interface StagedWriter extends AsyncDisposable {
  append(bytes: Uint8Array): Promise<void>;
  /** Resolves when all appended bytes are durable. */
  sync(): Promise<void>;
}

/** Names consist of a-z, 0-9 and `-`. All methods throw UNAVAILABLE if the storage is full or unusable. */
export interface StagedFiles {
  /**
   * Calls `work` with the path of a file with the first `size` bytes, which is valid until `work` ends. A store that is
   * not on this disk copies them to a temporary file.
   */
  withFile<T>(name: string, size: number, work: (path: string) => Promise<T>): Promise<T>;
  /** Writes the bytes at the offset, durably. Idempotent, also across servers. */
  write(name: string, offset: number, bytes: Uint8Array): Promise<void>;
  /** Fails if the file exists. */
  create(name: string): Promise<StagedWriter>;
  /** Truncates the file to the size. False if the file is shorter or does not exist. */
  cut(name: string, size: number): Promise<boolean>;
  exists(name: string): Promise<boolean>;
  /** Does nothing if the file does not exist. */
  remove(name: string): Promise<void>;
  /** All names, in batches. */
  list(): AsyncIterable<readonly string[]>;
}

const NAME = /^[a-z0-9-]{1,128}$/;
const LIST_BATCH_SIZE = 200;

export function isStagedName(name: string): boolean {
  return NAME.test(name);
}

export function assertStagedName(name: string): void {
  if (!NAME.test(name)) throw new Error(`${name} is not the name of a staged file`);
}

/** @throws Error for the operator if the folder is unusable */
export function createStagedFiles({ dataDir, log }: { readonly dataDir: string; readonly log: Log }): StagedFiles {
  const folder = join(dataDir, "imports");
  try {
    createFolders(folder);
  } catch (error) {
    throw new Error(`cannot create a folder for imports in ${dataDir}: ${(error as Error).message}`, { cause: error });
  }
  const path = (name: string): string => {
    assertStagedName(name);
    return join(folder, name);
  };
  const guarded = <T>(work: Promise<T>): Promise<T> =>
    work.catch((error: unknown) => {
      throw errorFromStorage(error, "an import's file", log);
    });
  return {
    withFile: async (name, _size, work) => work(path(name)),
    write: (name, offset, bytes) => guarded(writeAt(path(name), offset, bytes, folder)),
    async create(name) {
      const file = await guarded(open(path(name), "wx", 0o600));
      return {
        append: (bytes) => guarded(file.writeFile(bytes)),
        sync: () => guarded(file.sync().then(() => syncFolder(folder))),
        [Symbol.asyncDispose]: () => file.close(),
      };
    },
    cut: (name, size) => guarded(cut(path(name), size)),
    exists: async (name) => existsSync(path(name)),
    remove: (name) => guarded(rm(path(name), { force: true })),
    async *list() {
      const names: string[] = [];
      for await (const { name } of await opendir(folder)) {
        if (NAME.test(name)) names.push(name);
        if (names.length === LIST_BATCH_SIZE) yield names.splice(0);
      }
      if (names.length > 0) yield names;
    },
  };
}

/** Writes at an absolute offset, so that a late repetition by a second server is harmless. */
async function writeAt(path: string, offset: number, bytes: Uint8Array, folder: string): Promise<void> {
  const isFirst = offset === 0;
  // Opened without truncation: a late first chunk must not delete the chunks after it.
  await using file = await open(path, isFirst ? flags.O_RDWR | flags.O_CREAT : flags.O_RDWR, 0o600);
  await writeAll(file, bytes, offset);
  await file.sync();
  if (isFirst) await syncFolder(folder);
}

async function writeAll(file: FileHandle, bytes: Uint8Array, offset: number): Promise<void> {
  for (let done = 0; done < bytes.length; ) {
    const { bytesWritten } = await file.write(bytes, done, bytes.length - done, offset + done);
    done += bytesWritten;
  }
}

async function cut(path: string, size: number): Promise<boolean> {
  try {
    await using file = await open(path, "r+");
    const { size: present } = await file.stat();
    if (present > size) await file.truncate(size);
    return present >= size;
  } catch (error) {
    if (codeOf(error) === "ENOENT") return false;
    throw error;
  }
}
