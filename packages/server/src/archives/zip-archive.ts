/** Reads a zip archive by the directory at its end. Nothing is written to disk. */
import { Readable } from "node:stream";
import { promisify } from "node:util";
import { crc32, createInflateRaw, inflateRaw, inflateRawSync } from "node:zlib";
import { type Entry, fromRandomAccessReaderPromise, getFileNameLowLevel, RandomAccessReader, type ZipFile } from "yauzl";
import { transformed } from "./decompress.ts";
import { escapesRoot } from "./entry-path.ts";
import { ArchiveError, type ArchiveLimits, ArchiveMeter, archiveErrorFrom } from "./limits.ts";
import type { RandomAccessBytes } from "./random-access-bytes.ts";
import { DEFLATED, STORED } from "./zip-format.ts";

export interface ZipEntry {
  /** Folders end with a slash. */
  readonly path: string;
  readonly compressedSize: number;
  readonly expandedSize: number;
  readonly isDeflated: boolean;
  /** The path, or the other one, leads out of the archive. */
  readonly escapes: boolean;
  /** An extra field (APPNOTE 4.6.9) gives the entry another path, which some tools read and others ignore. */
  readonly hasTwoPaths: boolean;
  readonly isSymbolicLink: boolean;
  readonly isEncrypted: boolean;
  /** The compression method is neither stored nor deflated. */
  readonly unknownMethod: number | undefined;
  readonly record: Entry;
}

const MADE_BY_UNIX = 3;
const FILE_TYPE = 0o170000;
const SYMLINK = 0o120000;
/** Sizes of the end record, without and with those of ZIP64. */
const END_RECORD_SIZES = [22, 22 + 20 + 56];
/** Below this size, inflating blocks the process for less time than a stream costs. */
const MAX_SYNC_BYTES = 64 * 1024;

const inflate = promisify<Buffer, { maxOutputLength: number }, Buffer>(inflateRaw);

/** All methods throw an ArchiveError for malformed or damaged archives, and the error of the source if that fails. */
export class ZipArchive {
  readonly #zip: ZipFile;
  readonly #bytes: RandomAccessBytes;
  readonly #limits: ArchiveLimits;
  readonly #meter: ArchiveMeter;

  private constructor(zip: ZipFile, bytes: RandomAccessBytes, limits: ArchiveLimits) {
    this.#zip = zip;
    this.#bytes = bytes;
    this.#limits = limits;
    this.#meter = new ArchiveMeter(limits, bytes.size);
  }

  /** Finds the directory; reads no entry. */
  static async open(bytes: RandomAccessBytes, limits: ArchiveLimits): Promise<ZipArchive> {
    try {
      // The library would stop at the first name that it refuses, so it gets no names to check.
      const zip = await fromRandomAccessReaderPromise(new YauzlReader(bytes), bytes.size, { autoClose: false, decodeStrings: false });
      return new ZipArchive(zip, bytes, limits);
    } catch (error) {
      throw archiveErrorFrom(error, bytes, "not a valid zip archive");
    }
  }

  /** Refuses an archive by the number of entries that it announces, before its directory is read. */
  assertEntryCount(): void {
    this.#meter.assertEntryCount(this.#zip.entryCount);
  }

  /** Can be called once. Yields the entries up to the first that exceeds a limit, then throws. */
  async *entries(): AsyncGenerator<ZipEntry> {
    let compressedBytes = 0;
    try {
      for await (const record of this.#zip.eachEntry()) {
        compressedBytes += record.compressedSize;
        this.#meter.addEntry();
        if (compressedBytes > this.#bytes.size) throw new ArchiveError("the entries of the archive overlap");
        this.#meter.addExpanded(record.uncompressedSize);
        yield this.#entryOf(record);
      }
    } catch (error) {
      throw archiveErrorFrom(error, this.#bytes, "not a valid zip archive");
    }
  }

  #entryOf(record: Entry): ZipEntry {
    const { paths } = this.#limits;
    const { compressedSize, uncompressedSize: expandedSize, compressionMethod: method } = record;
    const isStrict = paths.backslash === "refused";
    const pathFrom = (extraFields: typeof record.extraFields) =>
      getFileNameLowLevel(record.generalPurposeBitFlag, record.fileNameRaw, extraFields, isStrict);
    const path = pathFrom(record.extraFields);
    const plainPath = pathFrom([]);
    return {
      path,
      compressedSize,
      expandedSize,
      isDeflated: method === DEFLATED,
      escapes: escapesRoot(path, paths) || escapesRoot(plainPath, paths),
      hasTwoPaths: path !== plainPath,
      isSymbolicLink: record.versionMadeBy >>> 8 === MADE_BY_UNIX && ((record.externalFileAttributes >>> 16) & FILE_TYPE) === SYMLINK,
      isEncrypted: record.isEncrypted(),
      unknownMethod: method === STORED || method === DEFLATED ? undefined : method,
      record,
    };
  }

  /** Whether only the end record follows the directory. Other bytes there can be another archive to a tool that reads from the front. */
  endsWithDirectory(): boolean {
    const rest = this.#bytes.size - Number(this.#zip.readEntryCursor) - this.#zip.comment.length;
    return END_RECORD_SIZES.includes(rest);
  }

  /** Positions of the first and the last compressed byte. */
  async locate({ record }: ZipEntry): Promise<{ readonly start: number; readonly end: number }> {
    try {
      const { fileDataStart: start } = await this.#zip.readLocalFileHeaderPromise(record, { minimal: true });
      return { start, end: start + record.compressedSize - 1 };
    } catch (error) {
      throw archiveErrorFrom(error, this.#bytes, "not a valid zip archive");
    }
  }

  /** The whole content, with its checksum verified. @param maxBytes limits both the compressed and the expanded size */
  async read(entry: ZipEntry, maxBytes: number): Promise<Buffer> {
    const { record, compressedSize, expandedSize, isDeflated } = entry;
    if (Math.max(compressedSize, expandedSize) > maxBytes) throw new ArchiveError(`an entry is larger than ${maxBytes} bytes`);
    const { start } = await this.locate(entry);
    try {
      const compressed = await this.#bytes.bytesAt(start, compressedSize);
      const content = isDeflated ? await inflated(compressed, expandedSize) : compressed;
      if (content.length !== expandedSize || crc32(content) !== record.crc32)
        throw new ArchiveError("damaged content: size or checksum differ from the archive's directory");
      return content;
    } catch (error) {
      throw archiveErrorFrom(error, this.#bytes, "damaged content");
    }
  }

  /** The content in chunks, with its size verified. */
  async *stream(entry: ZipEntry): AsyncGenerator<Uint8Array> {
    const { start, end } = await this.locate(entry);
    const compressed = this.#bytes.chunks(start, end + 1);
    let size = 0;
    try {
      const source = entry.isDeflated ? transformed(compressed, createInflateRaw()) : compressed;
      for await (const chunk of source) {
        size += chunk.length;
        if (size > entry.expandedSize) throw new ArchiveError("damaged content: larger than the archive's directory says");
        yield chunk;
      }
      if (size !== entry.expandedSize) throw new ArchiveError("damaged content: smaller than the archive's directory says");
    } catch (error) {
      throw archiveErrorFrom(error, this.#bytes, "damaged content");
    }
  }
}

async function inflated(compressed: Buffer, size: number): Promise<Buffer> {
  // Node refuses a limit of 0.
  const options = { maxOutputLength: Math.max(size, 1) };
  const isSmall = Math.max(compressed.length, size) <= MAX_SYNC_BYTES;
  return isSmall ? inflateRawSync(compressed, options) : inflate(compressed, options);
}

/** Adapts RandomAccessBytes to yauzl. */
class YauzlReader extends RandomAccessReader {
  readonly #bytes: RandomAccessBytes;

  constructor(bytes: RandomAccessBytes) {
    super();
    this.#bytes = bytes;
  }

  override read(target: Buffer, offset: number, length: number, position: number, callback: (error: Error | null) => void): void {
    this.#bytes.bytesAt(position, length).then(
      (bytes) => {
        bytes.copy(target, offset);
        callback(bytes.length < length ? new Error("unexpected end of file") : null);
      },
      (error: Error) => callback(error),
    );
  }

  override _readStreamForRange(start: number, end: number): Readable {
    return Readable.from(this.#bytes.chunks(start, end), { objectMode: false });
  }
}
