/** The name that a folder of blobs gives itself, so that it can be told from every other. It says nothing of what is in it. */
import { randomUUID } from "node:crypto";
import { link, mkdir, open, readFile, rm } from "node:fs/promises";
import { join } from "node:path";

/** Undefined for a folder that has none yet. */
export async function readFolderId(dataDir: string): Promise<string | undefined> {
  try {
    return (await readFile(pathIn(dataDir), "utf8")).trim();
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ENOENT") return undefined;
    throw unusable(dataDir, error);
  }
}

/** The folder's id, which is made where there is none. Of several who do so at once, all get the same one. */
export async function ensureFolderId(dataDir: string): Promise<string> {
  const made = join(dataDir, "blobs", `id.${randomUUID()}`);
  try {
    await mkdir(join(dataDir, "blobs"), { recursive: true, mode: 0o700 });
    await using file = await open(made, "wx", 0o600);
    await file.writeFile(`${randomUUID()}\n`);
    await file.sync();
    // A file comes into being under its name with all of its text, or not at all.
    await link(made, pathIn(dataDir)).catch((error: NodeJS.ErrnoException) => {
      if (error.code !== "EEXIST") throw error;
    });
    return (await readFolderId(dataDir)) as string;
  } catch (error) {
    throw unusable(dataDir, error);
  } finally {
    await rm(made, { force: true });
  }
}

function pathIn(dataDir: string): string {
  return join(dataDir, "blobs", "id");
}

function unusable(dataDir: string, error: unknown): Error {
  return new Error(`cannot use the folder for images in ${dataDir}: ${(error as Error).message}`, { cause: error });
}
