/** Files that come piece by piece and are read once, as a whole, by their path: `imports/<name>` in the data folder. Who needs which, and how much of one counts, is in the database. */
import { constants as flags, mkdirSync } from "node:fs";
import { type FileHandle, open, opendir, rm } from "node:fs/promises";
import { join } from "node:path";
import type { Log } from "../lib/log.ts";
import { syncFolder } from "./filesystem.ts";
import { codeOf, meaningOf } from "./storage-error.ts";

/** A file that one writer fills from its beginning to its end. */
export interface StagedWriter extends AsyncDisposable {
  append(bytes: Uint8Array): Promise<void>;
  /** All of it is on the disk when this resolves. */
  sync(): Promise<void>;
}

/** Names are made of a-z, 0-9 and `-`. All but `path` throw UNAVAILABLE where the folder has no space or does not answer. */
export interface StagedFiles {
  path(name: string): string;
  /** Puts these bytes there, durably. Writing the same again changes nothing, whoever else has done so. */
  write(name: string, offset: number, bytes: Uint8Array): Promise<void>;
  create(name: string): Promise<StagedWriter>;
  /** Takes off what was written beyond the size. False where there is less, or no such file. */
  cut(name: string, size: number): Promise<boolean>;
  /** One that does not exist is no error. */
  remove(name: string): Promise<void>;
  /** All names, some at a time. */
  list(): AsyncIterable<readonly string[]>;
}

const NAME = /^[a-z0-9-]{1,128}$/;
const LIST_SIZE = 200;

/** @throws Error for the operator where the folder cannot be used */
export function createStagedFiles({ dataDir, log }: { readonly dataDir: string; readonly log: Log }): StagedFiles {
  const folder = join(dataDir, "imports");
  try {
    mkdirSync(folder, { recursive: true, mode: 0o700 });
  } catch (error) {
    throw new Error(`cannot make a folder for imports in ${dataDir}: ${(error as Error).message}`, { cause: error });
  }
  const path = (name: string): string => {
    if (!NAME.test(name)) throw new Error(`${name} is not the name of a staged file`);
    return join(folder, name);
  };
  const guarded = <T>(work: Promise<T>): Promise<T> =>
    work.catch((error: unknown) => {
      throw meaningOf(error, "an import's file", log);
    });
  return {
    path,
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
    remove: (name) => guarded(rm(path(name), { force: true })),
    async *list() {
      const names: string[] = [];
      for await (const { name } of await opendir(folder)) {
        if (NAME.test(name)) names.push(name);
        if (names.length === LIST_SIZE) yield names.splice(0);
      }
      if (names.length > 0) yield names;
    },
  };
}

/** At a place of its own, so that a second server that is late with the same piece does no harm. */
async function writeAt(path: string, offset: number, bytes: Uint8Array, folder: string): Promise<void> {
  const isFirst = offset === 0;
  // Never emptied: whoever comes late with the first piece must not take what came after it.
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
