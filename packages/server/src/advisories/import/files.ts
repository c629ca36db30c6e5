/** All files of a source: a file, those of a folder and of the folders in it, those in archives. */
import { type FileHandle, open, opendir, stat } from "node:fs/promises";
import { join, relative } from "node:path";
import { type FileContext, type ImportFile, SMALL_FILE } from "./import-file.ts";
import { filesInTar, gunzip, isTar } from "./tar.ts";
import { filesInZip } from "./zip.ts";
import { ZipReader } from "./zip-reader.ts";

/** As much as tells the kinds of files apart. */
const START = 512;
const PIECE = 256 * 1024;

/** @param path of a file or a folder. @throws where it cannot be opened */
export async function* filesOf(path: string, context: FileContext): AsyncGenerator<ImportFile> {
  if ((await stat(path)).isDirectory()) yield* filesBelow(path, context);
  else yield* filesAt(path, path, { ...context, isSure: true });
}

/** Of all files: what `advance` will come to. */
export async function sizeOf(path: string): Promise<number> {
  const { size, isDirectory } = await stat(path).then((stats) => ({ size: stats.size, isDirectory: stats.isDirectory() }));
  if (!isDirectory) return size;
  let sum = 0;
  for await (const entry of await opendir(path, { recursive: true }))
    if (entry.isFile() && !isHidden(relative(path, join(entry.parentPath, entry.name))))
      sum += (await stat(join(entry.parentPath, entry.name))).size;
  return sum;
}

async function* filesBelow(folder: string, context: FileContext): AsyncGenerator<ImportFile> {
  for await (const entry of await opendir(folder)) {
    const path = join(folder, entry.name);
    // Version control, editors and operating systems keep things of their own there.
    if (isHidden(entry.name)) continue;
    if (entry.isDirectory()) yield* filesBelow(path, context);
    else if (entry.isFile()) yield* filesAt(path, path, { ...context, isSure: false });
    else context.report(path, "it is neither a file nor a folder; links are not followed");
  }
}

function isHidden(path: string): boolean {
  return path.split("/").some((part) => part.startsWith("."));
}

type Opened = FileContext & { readonly isSure: boolean };

async function* filesAt(path: string, name: string, context: Opened): AsyncGenerator<ImportFile> {
  let handle: FileHandle;
  try {
    handle = await open(path);
  } catch (error) {
    if (context.isSure) throw error;
    context.report(name, `it cannot be opened: ${(error as Error).message}`);
    return;
  }
  try {
    const { size } = await handle.stat();
    const reader = new ZipReader(handle, size);
    const start = await reader.bytesAt(0, START);
    const pieces = () => counted(reader.pieces(0, size), context);
    if (isZip(start)) yield* filesInZip(reader, name, context);
    else if (isTar(start)) yield* filesInTar(pieces(), name, uncounted(context));
    else if (isGzip(start)) yield* filesInGzip(pieces(), name, size, context);
    else if (size > SMALL_FILE) yield { name, content: pieces(), isSure: context.isSure };
    else {
      context.advance(size);
      yield { name, content: await reader.bytesAt(0, size), isSure: context.isSure };
    }
  } finally {
    await handle.close();
  }
}

async function* counted(bytes: AsyncIterable<Uint8Array>, { advance }: FileContext): AsyncGenerator<Uint8Array> {
  for await (const piece of bytes) {
    advance(piece.length);
    yield piece;
  }
}

/** What is in an archive is counted as the archive is read. */
function uncounted(context: Opened): Opened {
  return { ...context, advance: () => {} };
}

/** @param size of all bytes */
async function* filesInGzip(bytes: AsyncIterable<Uint8Array>, name: string, size: number, context: Opened): AsyncGenerator<ImportFile> {
  const { start, all } = await peek(gunzip(bytes, size));
  if (isTar(start)) yield* filesInTar(all, name, uncounted(context));
  else yield { name, content: all, isSure: context.isSure };
}

/** The first bytes, and all of them. */
async function peek(bytes: AsyncIterable<Uint8Array>): Promise<{ start: Buffer; all: AsyncGenerator<Uint8Array> }> {
  const iterator = bytes[Symbol.asyncIterator]();
  const read: Uint8Array[] = [];
  for (let length = 0; length < START; ) {
    const { done, value } = await iterator.next();
    if (done) break;
    read.push(value);
    length += value.length;
  }
  const start = Buffer.concat(read);
  async function* all(): AsyncGenerator<Uint8Array> {
    try {
      for (let at = 0; at < start.length; at += PIECE) yield start.subarray(at, at + PIECE);
      yield* { [Symbol.asyncIterator]: () => iterator };
    } finally {
      await iterator.return?.();
    }
  }
  return { start, all: all() };
}

function isZip(start: Buffer): boolean {
  return ["PK\x03\x04", "PK\x05\x06"].includes(start.toString("latin1", 0, 4));
}

function isGzip(start: Buffer): boolean {
  return start[0] === 0x1f && start[1] === 0x8b;
}
