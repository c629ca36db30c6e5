/** The files in a zip whose directory is lost, as when a download broke off: each has a header before it, so all are found that are there as a whole. */
import { once } from "node:events";
import { crc32, createInflateRaw } from "node:zlib";
import { validateFileName } from "yauzl";
import { MAX_DOCUMENT } from "./documents.ts";
import { type FileContext, type ImportFile, IS_BOMB, maxUnpacked } from "./import-file.ts";
import type { ZipReader } from "./zip-reader.ts";

const FILE_HEADER = 0x04034b50;
const DESCRIPTOR = 0x08074b50;
const HEADER_SIZE = 30;
const [ENCRYPTED, SIZES_FOLLOW] = [1, 8];
const [STORED, DEFLATED] = [0, 8];
const PIECE = 64 * 1024;
const ENDS_HERE = "the zip ends in the middle of this file";

interface Header {
  readonly name: string;
  readonly flags: number;
  readonly method: number;
  readonly crc: number;
  readonly packedSize: number;
  readonly start: number;
}

export async function* recoverZip(reader: ZipReader, archive: string, context: FileContext): AsyncGenerator<ImportFile> {
  let unpacked = 0;
  for (let position = 0; ; ) {
    const header = await headerAt(reader, position);
    if (header === undefined) return;
    const name = `${archive}!${header.name.slice(0, 1000)}`;
    const content = await contentOf(reader, header);
    if (content === undefined) {
      context.report(name, ENDS_HERE);
      return;
    }
    context.advance(content.end - position);
    position = content.end;
    unpacked += content.size;
    if (unpacked > maxUnpacked(reader.size)) {
      context.report(archive, IS_BOMB);
      return;
    }
    if (typeof content.bytes === "string") context.report(name, content.bytes);
    else if (validateFileName(header.name) !== null) context.report(name, "its path leads out of the archive, so it is not read");
    else if (!name.endsWith("/")) yield { name, content: content.bytes, isSure: false };
  }
}

/** APPNOTE 4.3.7. Undefined at the end, or where the directory begins. */
async function headerAt(reader: ZipReader, position: number): Promise<Header | undefined> {
  const fixed = await reader.bytesAt(position, HEADER_SIZE);
  if (fixed.length < HEADER_SIZE || fixed.readUInt32LE(0) !== FILE_HEADER) return undefined;
  const [nameLength, extraLength] = [fixed.readUInt16LE(26), fixed.readUInt16LE(28)];
  const name = (await reader.bytesAt(position + HEADER_SIZE, nameLength)).toString().replaceAll("\\", "/");
  return {
    name,
    flags: fixed.readUInt16LE(6),
    method: fixed.readUInt16LE(8),
    crc: fixed.readUInt32LE(14),
    packedSize: fixed.readUInt32LE(18),
    start: position + HEADER_SIZE + nameLength + extraLength,
  };
}

interface Content {
  /** Or why it cannot be used, though the file after it can be found. */
  readonly bytes: Buffer | string;
  readonly size: number;
  readonly end: number;
}

/** Undefined where nothing after it can be found. */
async function contentOf(reader: ZipReader, header: Header): Promise<Content | undefined> {
  const { flags, method, crc, packedSize, start } = header;
  const isKnown = (flags & SIZES_FOLLOW) === 0;
  if (isKnown && start + packedSize > reader.size) return undefined;
  if ((flags & ENCRYPTED) !== 0 || (method !== DEFLATED && method !== STORED))
    return isKnown
      ? { bytes: "it is encrypted, or compressed in a way that is not known here", size: 0, end: start + packedSize }
      : undefined;
  if (method === STORED) {
    if (!isKnown || packedSize > MAX_DOCUMENT) return undefined;
    return checked(await reader.bytesAt(start, packedSize), crc, start + packedSize);
  }
  const inflated = await inflate(reader, start);
  if (inflated === undefined) return undefined;
  const { bytes, end } = inflated;
  if (isKnown) return typeof bytes === "string" ? inflated : checked(bytes, crc, start + packedSize);
  // The descriptor: a signature that may be missing, the checksum, and two sizes of 4 bytes, or of 8 in ZIP64.
  const after = await reader.bytesAt(end, 24);
  const signed = after.length >= 4 && after.readUInt32LE(0) === DESCRIPTOR ? 4 : 0;
  if (after.length < signed + 12) return undefined;
  const next = [12, 20].find((length) => isSignature(after, signed + length)) ?? 12;
  return typeof bytes === "string"
    ? { ...inflated, end: end + signed + next }
    : checked(bytes, after.readUInt32LE(signed), end + signed + next);
}

function isSignature(bytes: Buffer, at: number): boolean {
  return bytes.length >= at + 2 && bytes.toString("latin1", at, at + 2) === "PK";
}

function checked(bytes: Buffer, crc: number, end: number): Content {
  return { bytes: crc32(bytes) === crc ? bytes : "it is damaged: its checksum is another", size: bytes.length, end };
}

/** Up to where the compressed data itself says that it ends. */
async function inflate(reader: ZipReader, start: number): Promise<Content | undefined> {
  const inflater = createInflateRaw();
  const pieces: Buffer[] = [];
  let size = 0;
  inflater.on("data", (piece: Buffer) => {
    size += piece.length;
    if (size <= MAX_DOCUMENT) pieces.push(piece);
    else pieces.length = 0;
  });
  const ended = once(inflater, "end").then(
    () => true,
    () => false,
  );
  let isOver = false;
  const over = ended.then(() => {
    isOver = true;
  });
  for (let position = start; position < reader.size && !isOver; position += PIECE) {
    const piece = await reader.bytesAt(position, Math.min(PIECE, reader.size - position));
    await Promise.race([new Promise<void>((resolve) => inflater.write(piece, () => resolve())), over]);
    if (size > maxUnpacked(reader.size)) break;
  }
  if (!isOver) inflater.end();
  const isWhole = await ended;
  const end = start + inflater.bytesWritten;
  inflater.destroy();
  if (!isWhole) return undefined;
  return { bytes: size > MAX_DOCUMENT ? `it is larger than ${MAX_DOCUMENT} bytes` : Buffer.concat(pieces), size, end };
}
