/** All files of an import's source: a file, the files in a folder and below, and the files in archives. */
import type { Stats } from "node:fs";
import { type FileHandle, open, opendir, stat } from "node:fs/promises";
import { join, relative } from "node:path";
import { archiveFormatOf, FORMAT_BYTES } from "../../archives/archive-format.ts";
import { decompress } from "../../archives/decompress.ts";
import { ArchiveMeter } from "../../archives/limits.ts";
import { fileBytes } from "../../archives/random-access-bytes.ts";
import { cannotRead } from "../../lib/file-problem.ts";
import { type FileContext, IMPORT_LIMITS, type ImportFile, SMALL_FILE } from "./import-file.ts";
import { filesInTar } from "./tar.ts";
import { filesInZip } from "./zip.ts";

/** A chunk of a stream that was buffered to recognize its format. */
const CHUNK_BYTES = 256 * 1024;

type OpenedContext = FileContext & Pick<ImportFile, "isExplicit">;

/** @param path of a file or a folder. @throws if it cannot be opened */
export async function* filesOf(path: string, context: FileContext): AsyncGenerator<ImportFile> {
  if ((await statsOf(path)).isDirectory()) yield* filesBelow(path, context);
  else yield* filesAt(path, { ...context, isExplicit: true });
}

/** The total size of all files: the sum of the calls of `advance`. */
export async function sizeOf(path: string): Promise<number> {
  const stats = await statsOf(path);
  if (!stats.isDirectory()) return stats.size;
  let sum = 0;
  for await (const entry of await opendir(path, { recursive: true })) {
    const file = join(entry.parentPath, entry.name);
    if (entry.isFile() && !isHidden(relative(path, file))) sum += (await stat(file)).size;
  }
  return sum;
}

/** @throws Error with a message for the operator */
async function statsOf(path: string): Promise<Stats> {
  try {
    return await stat(path);
  } catch (error) {
    throw cannotRead(path, error);
  }
}

async function* filesBelow(folder: string, context: FileContext): AsyncGenerator<ImportFile> {
  for await (const entry of await opendir(folder)) {
    const path = join(folder, entry.name);
    // Version control, editors and operating systems keep their own files there.
    if (isHidden(entry.name)) continue;
    if (entry.isDirectory()) yield* filesBelow(path, context);
    else if (entry.isFile()) yield* filesAt(path, { ...context, isExplicit: false });
    else context.report(path, "neither a file nor a folder; links are not followed");
  }
}

function isHidden(path: string): boolean {
  return path.split("/").some((part) => part.startsWith("."));
}

async function* filesAt(path: string, context: OpenedContext): AsyncGenerator<ImportFile> {
  const handle = await openOrReport(path, context);
  if (handle === undefined) return;
  try {
    yield* filesIn(handle, path, context);
  } finally {
    await handle.close();
  }
}

async function openOrReport(path: string, context: OpenedContext): Promise<FileHandle | undefined> {
  try {
    return await open(path);
  } catch (error) {
    if (context.isExplicit) throw error;
    context.report(path, `cannot be opened: ${(error as Error).message}`);
    return undefined;
  }
}

async function* filesIn(handle: FileHandle, name: string, context: OpenedContext): AsyncGenerator<ImportFile> {
  const { size } = await handle.stat();
  const { isExplicit } = context;
  const bytes = fileBytes(handle, size);
  const format = archiveFormatOf(await bytes.bytesAt(0, FORMAT_BYTES));
  const chunks = () => counted(bytes.chunks(0, size), context);
  if (format === "zip") yield* filesInZip(bytes, name, context);
  else if (format === "tar") yield* filesInTar(chunks(), name, context);
  else if (format === "gzip") yield* filesInGzip(decompress(chunks(), format, new ArchiveMeter(IMPORT_LIMITS, size)), name, context);
  else if (size > SMALL_FILE) yield { name, content: chunks(), isExplicit };
  else {
    context.advance(size);
    yield { name, content: await bytes.bytesAt(0, size), isExplicit };
  }
}

async function* counted(bytes: AsyncIterable<Uint8Array>, { advance }: FileContext): AsyncGenerator<Uint8Array> {
  for await (const chunk of bytes) {
    advance(chunk.length);
    yield chunk;
  }
}

/** @param bytes decompressed: a tar archive, or a single file */
async function* filesInGzip(bytes: AsyncIterable<Uint8Array>, name: string, context: OpenedContext): AsyncGenerator<ImportFile> {
  const { start, all } = await peek(bytes);
  if (archiveFormatOf(start) === "tar") yield* filesInTar(all, name, context);
  else yield { name, content: all, isExplicit: context.isExplicit };
}

/** Buffers at least the first `FORMAT_BYTES` bytes; `all` includes them. */
async function peek(bytes: AsyncIterable<Uint8Array>): Promise<{ start: Buffer; all: AsyncGenerator<Uint8Array> }> {
  const iterator = bytes[Symbol.asyncIterator]();
  const read: Uint8Array[] = [];
  for (let length = 0; length < FORMAT_BYTES; ) {
    const { done, value } = await iterator.next();
    if (done) break;
    read.push(value);
    length += value.length;
  }
  const start = Buffer.concat(read);
  async function* all(): AsyncGenerator<Uint8Array> {
    try {
      for (let at = 0; at < start.length; at += CHUNK_BYTES) yield start.subarray(at, at + CHUNK_BYTES);
      yield* { [Symbol.asyncIterator]: () => iterator };
    } finally {
      await iterator.return?.();
    }
  }
  return { start, all: all() };
}
