/** The files in a zip, by its directory; where that is lost, by what stands before each file. Nothing is unpacked to disk, and what is made to harm is reported. */
import { pipeline } from "node:stream";
import { crc32, createInflateRaw, inflateRawSync } from "node:zlib";
import { type Entry, fromRandomAccessReaderPromise, getFileNameLowLevel, validateFileName, type ZipFile } from "yauzl";
import { type FileContext, type ImportFile, IS_BOMB, MAX_ENTRIES, maxUnpacked, SMALL_FILE } from "./import-file.ts";
import { recoverZip } from "./recover-zip.ts";
import type { ZipReader } from "./zip-reader.ts";

const DEFLATED = 8;
const STORED = 0;
const MADE_BY_UNIX = 3;
const [FILE_TYPE, SYMLINK] = [0o170000, 0o120000];

export async function* filesInZip(reader: ZipReader, name: string, context: FileContext): AsyncGenerator<ImportFile> {
  let zip: ZipFile;
  try {
    // Names are looked at here: the library gives up at the first that it does not like.
    zip = await fromRandomAccessReaderPromise(reader, reader.size, { autoClose: false, decodeStrings: false });
  } catch (error) {
    if ("syscall" in (error as Error)) throw error;
    context.report(name, "the directory at the end of this zip is missing or broken; what stands before that is read");
    yield* recoverZip(reader, name, context);
    return;
  }
  const limits = { packed: 0, unpacked: 0, entries: 0 };
  try {
    for await (const entry of zip.eachEntry()) {
      const path = `${name}!${nameOf(entry).slice(0, 1000)}`;
      limits.packed += entry.compressedSize;
      limits.unpacked += entry.uncompressedSize;
      const end = endOf(limits, reader.size);
      if (end !== undefined) {
        context.report(name, end);
        return;
      }
      context.advance(entry.compressedSize);
      if (path.endsWith("/")) continue;
      const problem = problemOf(entry);
      const content = problem ?? (await contentOf(zip, entry, reader));
      if (typeof content === "string") context.report(path, content);
      else yield { name: path, content, isSure: false };
    }
  } catch (error) {
    if ("syscall" in (error as Error)) throw error;
    context.report(name, `the directory of this zip cannot be read further: ${(error as Error).message.slice(0, 200)}`);
  }
}

function endOf(limits: { packed: number; unpacked: number; entries: number }, size: number): string | undefined {
  if (++limits.entries > MAX_ENTRIES) return `it has more than ${MAX_ENTRIES} entries; the rest is not read`;
  if (limits.packed > size) return "its entries overlap; what comes after this is not read";
  return limits.unpacked > maxUnpacked(size) ? IS_BOMB : undefined;
}

function nameOf({ generalPurposeBitFlag, fileNameRaw, extraFields }: Entry): string {
  return getFileNameLowLevel(generalPurposeBitFlag, fileNameRaw, extraFields, false);
}

function problemOf(entry: Entry): string | undefined {
  const path = validateFileName(nameOf(entry));
  if (path !== null) return "its path leads out of the archive, so it is not read";
  if (entry.versionMadeBy >>> 8 === MADE_BY_UNIX && ((entry.externalFileAttributes >>> 16) & FILE_TYPE) === SYMLINK)
    return "it is a symbolic link, which is not followed";
  if (entry.isEncrypted()) return "it is encrypted";
  if (![STORED, DEFLATED].includes(entry.compressionMethod))
    return `it is compressed in a way that is not known here (${entry.compressionMethod})`;
  return undefined;
}

/** Or why it cannot be read. */
async function contentOf(zip: ZipFile, entry: Entry, reader: ZipReader): Promise<ImportFile["content"] | string> {
  try {
    const { fileDataStart: start } = await zip.readLocalFileHeaderPromise(entry, { minimal: true });
    if (Math.max(entry.uncompressedSize, entry.compressedSize) > SMALL_FILE) return unpacked(entry, reader, start);
    const packed = await reader.bytesAt(start, entry.compressedSize);
    // A stream for each of a million small files would take most of the time.
    const isStored = entry.compressionMethod === STORED;
    const bytes = isStored ? packed : inflateRawSync(packed, { maxOutputLength: Math.max(entry.uncompressedSize, 1) });
    if (bytes.length !== entry.uncompressedSize || crc32(bytes) !== entry.crc32) return "it is damaged: it is not what the directory says";
    return bytes;
  } catch (error) {
    if ("syscall" in (error as Error)) throw error;
    return `it is damaged: ${(error as Error).message.slice(0, 200)}`;
  }
}

/** Fails where there is more than was announced. */
async function* unpacked(entry: Entry, reader: ZipReader, start: number): AsyncGenerator<Uint8Array> {
  const pieces = reader.pieces(start, start + entry.compressedSize);
  const source = entry.compressionMethod === STORED ? pieces : pipeline(pieces, createInflateRaw(), () => {});
  let size = 0;
  for await (const piece of source as AsyncIterable<Buffer>) {
    size += piece.length;
    if (size > entry.uncompressedSize) throw new Error("it is larger than the directory says");
    yield piece;
  }
  if (size !== entry.uncompressedSize) throw new Error("it ends too early");
}
