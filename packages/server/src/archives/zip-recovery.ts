/**
 * Recovers files from a zip archive whose directory is lost, as after an interrupted download.
 * Each file has a header of its own, so every complete file up to the damage is found.
 */
import { once } from "node:events";
import { crc32, createInflateRaw } from "node:zlib";
import { escapesRoot } from "./entry-path.ts";
import { type ArchiveLimits, ArchiveMeter } from "./limits.ts";
import type { RandomAccessBytes } from "./random-access-bytes.ts";
import { DATA_DESCRIPTOR, DEFLATED, ENCRYPTED, FILE_HEADER, SIZES_FOLLOW, STORED } from "./zip-format.ts";

export interface RecoveredFile {
  readonly path: string;
  readonly escapes: boolean;
  /** A string says why the content cannot be used. */
  readonly content: Buffer | string;
  /** Bytes of the archive that the file takes, header included. */
  readonly archiveBytes: number;
}

export interface RecoveryOptions {
  readonly limits: ArchiveLimits;
  /** A larger file is recovered without its content. */
  readonly maxFileBytes: number;
}

interface FileHeader {
  readonly path: string;
  readonly flags: number;
  readonly method: number;
  readonly crc: number;
  readonly compressedSize: number;
  /** Position of the content. */
  readonly start: number;
}

interface Content {
  readonly bytes: Buffer | string;
  readonly size: number;
  /** Position after the content. */
  readonly end: number;
}

const HEADER_SIZE = 30;
const CHUNK_BYTES = 64 * 1024;

/** @throws ArchiveError above a limit */
export async function* recoverZip(bytes: RandomAccessBytes, options: RecoveryOptions): AsyncGenerator<RecoveredFile> {
  const meter = new ArchiveMeter(options.limits, bytes.size);
  const recovery = new Recovery(bytes, options.maxFileBytes, meter.maxBytes);
  for (let position = 0; ; ) {
    const header = await recovery.headerAt(position);
    if (header === undefined) return;
    const { path } = header;
    const escapes = escapesRoot(path, options.limits.paths);
    const content = await recovery.contentOf(header);
    if (content === undefined) {
      yield { path, escapes, content: "the archive is cut off in this file", archiveBytes: 0 };
      return;
    }
    meter.addEntry();
    meter.addExpanded(content.size);
    yield { path, escapes, content: content.bytes, archiveBytes: content.end - position };
    position = content.end;
  }
}

class Recovery {
  readonly #bytes: RandomAccessBytes;
  readonly #maxFileBytes: number;
  readonly #maxExpandedBytes: number;

  constructor(bytes: RandomAccessBytes, maxFileBytes: number, maxExpandedBytes: number) {
    this.#bytes = bytes;
    this.#maxFileBytes = maxFileBytes;
    this.#maxExpandedBytes = maxExpandedBytes;
  }

  /** APPNOTE 4.3.7. Undefined at the end, or at the start of the directory. */
  async headerAt(position: number): Promise<FileHeader | undefined> {
    const fixed = await this.#bytes.bytesAt(position, HEADER_SIZE);
    if (fixed.length < HEADER_SIZE || fixed.readUInt32LE(0) !== FILE_HEADER) return undefined;
    const nameLength = fixed.readUInt16LE(26);
    const extraLength = fixed.readUInt16LE(28);
    const name = await this.#bytes.bytesAt(position + HEADER_SIZE, nameLength);
    return {
      path: name.toString().replaceAll("\\", "/"),
      flags: fixed.readUInt16LE(6),
      method: fixed.readUInt16LE(8),
      crc: fixed.readUInt32LE(14),
      compressedSize: fixed.readUInt32LE(18),
      start: position + HEADER_SIZE + nameLength + extraLength,
    };
  }

  /** Undefined if no further file can be found. */
  async contentOf(header: FileHeader): Promise<Content | undefined> {
    const { flags, method, compressedSize, start, crc } = header;
    const isSizeKnown = (flags & SIZES_FOLLOW) === 0;
    const end = start + compressedSize;
    if (isSizeKnown && end > this.#bytes.size) return undefined;
    const isReadable = (flags & ENCRYPTED) === 0 && (method === DEFLATED || method === STORED);
    if (!isReadable) return isSizeKnown ? { bytes: "encrypted, or compressed with an unknown method", size: 0, end } : undefined;
    if (method === STORED) {
      if (!isSizeKnown || compressedSize > this.#maxFileBytes) return undefined;
      return verified(await this.#bytes.bytesAt(start, compressedSize), crc, end);
    }
    const inflated = await this.#inflate(start);
    if (inflated === undefined) return undefined;
    if (!isSizeKnown) return this.#withDescriptor(inflated);
    return typeof inflated.bytes === "string" ? inflated : verified(inflated.bytes, crc, end);
  }

  /** A data descriptor has an optional signature, the checksum, and two sizes of 4 bytes, or of 8 bytes in ZIP64. */
  async #withDescriptor({ bytes, size, end }: Content): Promise<Content | undefined> {
    const after = await this.#bytes.bytesAt(end, 24);
    const signature = after.length >= 4 && after.readUInt32LE(0) === DATA_DESCRIPTOR ? 4 : 0;
    if (after.length < signature + 12) return undefined;
    const rest = [12, 20].find((length) => isSignature(after, signature + length)) ?? 12;
    const next = end + signature + rest;
    return typeof bytes === "string" ? { bytes, size, end: next } : verified(bytes, after.readUInt32LE(signature), next);
  }

  /** Inflates until the compressed data itself ends. */
  async #inflate(start: number): Promise<Content | undefined> {
    const inflater = createInflateRaw();
    const chunks: Buffer[] = [];
    let size = 0;
    inflater.on("data", (chunk: Buffer) => {
      size += chunk.length;
      if (size <= this.#maxFileBytes) chunks.push(chunk);
      else chunks.length = 0;
    });
    let isOver = false;
    const ended = once(inflater, "end").then(
      () => true,
      () => false,
    );
    const over = ended.then(() => {
      isOver = true;
    });
    for (let position = start; position < this.#bytes.size && !isOver; position += CHUNK_BYTES) {
      const chunk = await this.#bytes.bytesAt(position, Math.min(CHUNK_BYTES, this.#bytes.size - position));
      await Promise.race([new Promise<void>((resolve) => inflater.write(chunk, () => resolve())), over]);
      if (size > this.#maxExpandedBytes) break;
    }
    if (!isOver) inflater.end();
    const isComplete = await ended;
    const end = start + inflater.bytesWritten;
    inflater.destroy();
    if (!isComplete) return undefined;
    return { bytes: size > this.#maxFileBytes ? `larger than ${this.#maxFileBytes} bytes` : Buffer.concat(chunks), size, end };
  }
}

function isSignature(bytes: Buffer, at: number): boolean {
  return bytes.length >= at + 2 && bytes.toString("latin1", at, at + 2) === "PK";
}

function verified(bytes: Buffer, crc: number, end: number): Content {
  return { bytes: crc32(bytes) === crc ? bytes : "damaged content: its checksum differs", size: bytes.length, end };
}
