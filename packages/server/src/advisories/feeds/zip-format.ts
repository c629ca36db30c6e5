/**
 * Encodes the records of a zip archive (PKWARE APPNOTE 6.3). We do not use a library, because unchanged entries are
 * copied between archives as bytes, and because most libraries lack zip64. Pure.
 */
const LOCAL_HEADER = 0x04034b50;
const CENTRAL_HEADER = 0x02014b50;
const END = 0x06054b50;
const END_64 = 0x06064b50;
const LOCATOR_64 = 0x07064b50;
const DEFLATED = 8;
/** Bit 11: names are UTF-8 (§4.4.4). */
const FLAGS = 0x0800;
const VERSION = 20;
const VERSION_64 = 45;
/** A field with this value has its actual value in the zip64 record. */
const MAX_16 = 0xffff;
const MAX_32 = 0xffffffff;

export interface ZipEntry {
  readonly name: string;
  /** RFC 3339, UTC. */
  readonly time: string;
  readonly crc: number;
  /** Uncompressed bytes. */
  readonly size: number;
  readonly packedSize: number;
}

/** The local file header (§4.3.7), which precedes the compressed bytes. */
export function localHeader(entry: ZipEntry): Buffer {
  const name = Buffer.from(entry.name);
  const header = Buffer.alloc(30 + name.length);
  header.writeUInt32LE(LOCAL_HEADER, 0);
  header.writeUInt16LE(VERSION, 4);
  writeCommon(header, 6, entry, name.length);
  name.copy(header, 30);
  return header;
}

export function localHeaderSize(name: string): number {
  return 30 + Buffer.byteLength(name);
}

/** The central directory file header (§4.3.12). @param offset of the entry's local header */
export function centralHeader(entry: ZipEntry, offset: number): Buffer {
  const name = Buffer.from(entry.name);
  const isFar = offset >= MAX_32;
  const header = Buffer.alloc(46 + name.length + (isFar ? 12 : 0));
  header.writeUInt32LE(CENTRAL_HEADER, 0);
  header.writeUInt16LE(isFar ? VERSION_64 : VERSION, 4);
  header.writeUInt16LE(isFar ? VERSION_64 : VERSION, 6);
  writeCommon(header, 8, entry, name.length);
  header.writeUInt16LE(isFar ? 12 : 0, 30);
  header.writeUInt32LE(isFar ? MAX_32 : offset, 42);
  name.copy(header, 46);
  if (isFar) {
    // The zip64 extra field (§4.5.3) contains the values of fields that overflow, here only the offset.
    header.writeUInt16LE(1, 46 + name.length);
    header.writeUInt16LE(8, 48 + name.length);
    header.writeBigUInt64LE(BigInt(offset), 50 + name.length);
  }
  return header;
}

/** Writes flags, method, time, CRC, sizes and name length, which are the same in both headers. */
function writeCommon(header: Buffer, at: number, { time, crc, packedSize, size }: ZipEntry, nameLength: number): void {
  header.writeUInt16LE(FLAGS, at);
  header.writeUInt16LE(DEFLATED, at + 2);
  header.writeUInt32LE(dosTime(time), at + 4);
  header.writeUInt32LE(crc, at + 8);
  header.writeUInt32LE(packedSize, at + 12);
  header.writeUInt32LE(size, at + 16);
  header.writeUInt16LE(nameLength, at + 20);
}

/** MS-DOS date and time (§4.4.6): the date in the upper 16 bits, to two seconds, from 1980 to 2107. */
function dosTime(text: string): number {
  const time = new Date(text);
  const year = time.getUTCFullYear();
  if (!(year >= 1980 && year <= 2107)) return 0x210000;
  const date = ((year - 1980) << 9) | ((time.getUTCMonth() + 1) << 5) | time.getUTCDate();
  return ((date << 16) | (time.getUTCHours() << 11) | (time.getUTCMinutes() << 5) | (time.getUTCSeconds() >> 1)) >>> 0;
}

/**
 * The end of central directory record, with the zip64 records before it if needed (§4.3.14 to §4.3.16).
 * @param start offset of the central directory, which ends where these records begin
 */
export function zipEnd(entries: number, start: number, size: number): Buffer {
  const isLarge = entries >= MAX_16 || start >= MAX_32 || size >= MAX_32;
  const end = Buffer.alloc(22);
  end.writeUInt32LE(END, 0);
  end.writeUInt16LE(Math.min(entries, MAX_16), 8);
  end.writeUInt16LE(Math.min(entries, MAX_16), 10);
  end.writeUInt32LE(Math.min(size, MAX_32), 12);
  end.writeUInt32LE(Math.min(start, MAX_32), 16);
  if (!isLarge) return end;
  const large = Buffer.alloc(56 + 20);
  large.writeUInt32LE(END_64, 0);
  large.writeBigUInt64LE(44n, 4);
  large.writeUInt16LE(VERSION_64, 12);
  large.writeUInt16LE(VERSION_64, 14);
  large.writeBigUInt64LE(BigInt(entries), 24);
  large.writeBigUInt64LE(BigInt(entries), 32);
  large.writeBigUInt64LE(BigInt(size), 40);
  large.writeBigUInt64LE(BigInt(start), 48);
  large.writeUInt32LE(LOCATOR_64, 56);
  large.writeBigUInt64LE(BigInt(start + size), 64);
  large.writeUInt32LE(1, 72);
  return Buffer.concat([large, end]);
}
