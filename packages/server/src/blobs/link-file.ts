/** Makes uploaded files available under the names of their blobs, durably, also on file systems without hard links. */
import { randomBytes } from "node:crypto";
import { copyFile, link, mkdir, open, rename, rm } from "node:fs/promises";
import { basename, dirname } from "node:path";
import { NO_LINK_CODES } from "../lib/create-file.ts";
import { statFile } from "./stat-file.ts";
import { codeOf } from "./storage-error.ts";
import { NoSuchUpload } from "./store.ts";
import { syncFolder } from "./sync-folder.ts";

/**
 * Makes a file available under another name, durably, unless a file with that name has at least `size` bytes. The folder of the
 * name is created.
 * @throws NoSuchUpload if the upload was aborted meanwhile
 */
export async function linkFile(source: string, target: string, size: number): Promise<void> {
  const folder = dirname(target);
  for (;;) {
    try {
      await link(source, target);
      break;
    } catch (error) {
      const code = codeOf(error);
      if (code === "ENOENT") {
        if ((await statFile(source)) === undefined) throw new NoSuchUpload(basename(source));
        // The folder must be durable before its files can be.
        await makeFolder(folder);
        await syncFolder(dirname(folder));
      } else if (code === "EEXIST") {
        const present = (await statFile(target))?.size;
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

async function makeFolder(path: string): Promise<void> {
  await mkdir(path, { mode: 0o700 }).catch((error: unknown) => {
    if (codeOf(error) !== "EEXIST") throw error;
  });
}

async function replaceByCopy(source: string, target: string): Promise<void> {
  // Another server may commit the same upload. If this one stops in between, staleUploads finds the copy by its name.
  const copy = `${source}-copy-${randomBytes(6).toString("hex")}`;
  try {
    await copyFile(source, copy);
    {
      await using file = await open(copy, "r+");
      await file.sync();
    }
    await rename(copy, target);
  } catch (error) {
    await rm(copy, { force: true });
    throw error;
  }
  await syncFolder(dirname(target));
}
