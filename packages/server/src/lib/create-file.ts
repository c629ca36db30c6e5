/** Creates files that several servers may create at the same time, also on file systems without hard links. */
import { randomUUID } from "node:crypto";
import { existsSync } from "node:fs";
import { link, open, rename, rm } from "node:fs/promises";

/** Error codes of file systems without hard links, or with too few of them. */
export const NO_LINK_CODES: ReadonlySet<string> = new Set(["EPERM", "ENOTSUP", "EOPNOTSUPP", "ENOSYS", "EMLINK", "EXDEV"]);

/** Creates a file for its owner only, unless it exists. It appears whole, and its content is durable. */
export async function createFile(path: string, content: string): Promise<void> {
  const made = `${path}.${randomUUID()}`;
  try {
    await using file = await open(made, "wx", 0o600);
    await file.writeFile(content);
    await file.sync();
    await link(made, path).catch(async (error: NodeJS.ErrnoException) => {
      const { code = "" } = error;
      if (code === "EEXIST") return;
      if (!NO_LINK_CODES.has(code)) throw error;
      if (!existsSync(path)) await rename(made, path);
    });
  } finally {
    await rm(made, { force: true });
  }
}
