/** A backup target that is a folder. */
import { randomUUID } from "node:crypto";
import { createWriteStream } from "node:fs";
import { mkdir, open, readdir, rename, rm, rmdir, stat } from "node:fs/promises";
import { dirname, join, relative, sep } from "node:path";
import type { Readable } from "node:stream";
import { pipeline } from "node:stream/promises";
import { syncFolder } from "../blobs/sync-folder.ts";
import { createFolders } from "../lib/create-folders.ts";
import { type BackupTarget, NoSuchObject, type TargetUse } from "./target.ts";

/** Suffix of files that are not complete. */
const PARTIAL = ".partial";
const PATH = /^(?!.*(?:^|\/)\.)[\w.-]+(?:\/[\w.-]+)*$/;

/**
 * A folder to write to is created if necessary, readable for its owner only: a backup of the database gives full control.
 * A missing folder to read from is an error, because its name is probably mistyped.
 */
export async function openFolderTarget(folder: string, use: TargetUse): Promise<BackupTarget> {
  if (use === "write") createFolder(folder);
  else await assertFolder(folder);
  const pathOf = (path: string): string => {
    if (!PATH.test(path)) throw new Error(`"${path}" is not a path of a backup`);
    return join(folder, ...path.split("/"));
  };
  return {
    name: folder,
    scratch: folder,
    write: (path, content) => writeWhole(pathOf(path), content),
    async read(path) {
      const file = await open(pathOf(path)).catch((error: unknown) => {
        throw isMissing(error) ? new NoSuchObject(`the backup has no ${path}`) : error;
      });
      return file.createReadStream();
    },
    sizeOf: (path) => sizeOf(pathOf(path)),
    async *list(path) {
      for await (const file of filesBelow(pathOf(path))) {
        if (file.endsWith(PARTIAL)) continue;
        const size = await sizeOf(file);
        // Another process may have removed it meanwhile.
        if (size !== undefined) yield { path: relative(folder, file).split(sep).join("/"), size };
      }
    },
    async remove(path) {
      await rm(pathOf(path), { force: true });
      // Fails while the folder has other files, as it should.
      await rmdir(dirname(pathOf(path))).catch(() => {});
    },
    async removeLeftovers(path) {
      for await (const file of filesBelow(pathOf(path))) if (file.endsWith(PARTIAL)) await rm(file, { force: true });
    },
    [Symbol.dispose]() {},
  };
}

function createFolder(folder: string): void {
  try {
    createFolders(folder);
  } catch (error) {
    throw new Error(`cannot use the folder ${folder}: ${(error as Error).message}`, { cause: error });
  }
}

async function assertFolder(folder: string): Promise<void> {
  const found = await stat(folder).catch((error: unknown) => {
    if (isMissing(error)) throw new Error(`there is no folder ${folder}`, { cause: error });
    throw new Error(`cannot use the folder ${folder}: ${(error as Error).message}`, { cause: error });
  });
  if (!found.isDirectory()) throw new Error(`${folder} is not a folder`);
}

async function sizeOf(file: string): Promise<number | undefined> {
  const found = await stat(file).catch((error: unknown) => {
    if (isMissing(error)) return undefined;
    throw error;
  });
  return found?.size;
}

async function writeWhole(path: string, content: Readable): Promise<void> {
  const partial = `${path}.${randomUUID()}${PARTIAL}`;
  try {
    await makeFolder(dirname(path));
    await pipeline(content, createWriteStream(partial, { mode: 0o600, flush: true }));
    await rename(partial, path);
    await syncFolder(dirname(path));
  } catch (error) {
    await rm(partial, { force: true });
    throw error;
  }
}

/** Creates a folder and those above it, durably: a file is not durable before its folder is. */
async function makeFolder(path: string): Promise<void> {
  const first = await mkdir(path, { recursive: true, mode: 0o700 });
  if (first === undefined) return;
  for (let made = path; made.length >= first.length; made = dirname(made)) await syncFolder(dirname(made));
}

async function* filesBelow(folder: string): AsyncIterable<string> {
  const entries = await readdir(folder, { withFileTypes: true }).catch((error: unknown) => {
    if (isMissing(error)) return [];
    throw error;
  });
  for (const entry of entries) {
    const path = join(folder, entry.name);
    if (entry.isDirectory()) yield* filesBelow(path);
    else if (entry.isFile()) yield path;
  }
}

function isMissing(error: unknown): boolean {
  return (error as NodeJS.ErrnoException).code === "ENOENT";
}
