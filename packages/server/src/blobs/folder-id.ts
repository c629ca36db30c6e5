/** Reads and creates the random id of a blob folder, which distinguishes it from the blobs of other databases. */
import { readdir, readFile } from "node:fs/promises";
import { join } from "node:path";
import { createFile } from "../lib/create-file.ts";
import { createFolders } from "../lib/create-folders.ts";
import type { BlobHome } from "./blob-home.ts";

/** The folder of blobs in the data folder. */
export function folderHome(dataDir: string): BlobHome {
  return {
    name: `the folder ${dataDir}/blobs`,
    readId: () => readFolderId(dataDir),
    hasBlobs: () => hasBlobFiles(dataDir),
    ensureId: (id) => ensureFolderId(dataDir, id),
  };
}

/** Undefined if the folder has no id yet. @throws Error for the operator if the folder is unusable */
async function readFolderId(dataDir: string): Promise<string | undefined> {
  try {
    return (await readFile(pathIn(dataDir), "utf8")).trim();
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ENOENT") return undefined;
    throw unusable(dataDir, error);
  }
}

/** Whether the folder contains the file of any blob. @throws Error for the operator if the folder is unusable */
async function hasBlobFiles(dataDir: string): Promise<boolean> {
  const blobs = join(dataDir, "blobs");
  try {
    for (const algorithm of await foldersIn(blobs))
      for (const prefix of await foldersIn(join(blobs, algorithm)))
        if ((await readdir(join(blobs, algorithm, prefix))).length > 0) return true;
    return false;
  } catch (error) {
    throw unusable(dataDir, error);
  }
}

async function foldersIn(path: string): Promise<string[]> {
  const entries = await readdir(path, { withFileTypes: true }).catch((error: NodeJS.ErrnoException) => {
    if (error.code === "ENOENT") return [];
    throw error;
  });
  return entries.filter((entry) => entry.isDirectory()).map(({ name }) => name);
}

/** Returns the folder's id, and stores the given one if it has none. Concurrent callers get the same id. */
async function ensureFolderId(dataDir: string, id: string): Promise<string> {
  try {
    createFolders(join(dataDir, "blobs"));
    await createFile(pathIn(dataDir), `${id}\n`);
    return (await readFolderId(dataDir)) as string;
  } catch (error) {
    throw unusable(dataDir, error);
  }
}

function pathIn(dataDir: string): string {
  return join(dataDir, "blobs", "id");
}

function unusable(dataDir: string, error: unknown): Error {
  return new Error(`cannot use the folder for images in ${dataDir}: ${(error as Error).message}`, { cause: error });
}
