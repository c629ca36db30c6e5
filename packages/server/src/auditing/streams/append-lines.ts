/** Appends lines to a file. A last line that a crash or a full disk has cut off is removed first: it would spoil the next one. */
import { type FileHandle, open, stat } from "node:fs/promises";

const CHUNK_BYTES = 64 * 1024;
const NEWLINE = "\n".charCodeAt(0);

/** @param lines each with its end */
export async function appendLines(path: string, lines: string): Promise<void> {
  await removeCutLine(path);
  await using file = await open(path, "a", 0o600);
  await file.writeFile(lines);
  await file.sync();
}

/** Does nothing to what is not a regular file, such as a pipe. */
async function removeCutLine(path: string): Promise<void> {
  const found = await stat(path).catch((error: NodeJS.ErrnoException) => {
    if (error.code === "ENOENT") return undefined;
    throw error;
  });
  if (found === undefined || !found.isFile() || found.size === 0) return;
  await using file = await open(path, "r+");
  const { size } = await file.stat();
  const end = await endOfLastLine(file, size);
  if (end < size) await file.truncate(end);
}

async function endOfLastLine(file: FileHandle, size: number): Promise<number> {
  const chunk = Buffer.alloc(CHUNK_BYTES);
  for (let end = size; end > 0; end -= CHUNK_BYTES) {
    const start = Math.max(0, end - CHUNK_BYTES);
    const { bytesRead } = await file.read(chunk, 0, end - start, start);
    const at = chunk.subarray(0, bytesRead).lastIndexOf(NEWLINE);
    if (at >= 0) return start + at + 1;
  }
  return 0;
}
