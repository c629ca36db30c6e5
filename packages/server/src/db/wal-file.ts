/**
 * Reads the write-ahead log of an SQLite file: its header, its frames and their checksums.
 * The format: https://www.sqlite.org/fileformat2.html#the_write_ahead_log
 */
import { type FileHandle, open } from "node:fs/promises";

const HEADER_BYTES = 32;
const FRAME_HEADER_BYTES = 24;
/** Checksums over little-endian words, which SQLite uses on all machines that Node runs on. */
const MAGIC = 0x377f0682;
const CHUNK_BYTES = 1024 * 1024;

/** The two running sums of a checksum. */
export type Checksum = readonly [number, number];

/** A place in a log, after a frame. */
export interface WalPosition {
  /** Identifies the log: its two salts in hexadecimal digits. They change when SQLite begins a new one. */
  readonly salt: string;
  /** Number of frames before it. */
  readonly frame: number;
  readonly checksum: Checksum;
}

export interface WalHeader {
  readonly pageSize: number;
  readonly start: WalPosition;
}

/** One page of a transaction. */
export interface WalFrame {
  readonly page: number;
  /** Number of pages of the database after the transaction; 0 unless this is its last frame. */
  readonly commitPages: number;
  readonly bytes: Uint8Array;
}

export class DamagedFrame extends Error {}

/** @param bytes a multiple of 8, at an offset that is a multiple of 4 */
function addToChecksum([first, second]: Checksum, bytes: Uint8Array): Checksum {
  const words = new Uint32Array(bytes.buffer, bytes.byteOffset, bytes.byteLength / 4);
  let a = first | 0;
  let b = second | 0;
  for (let i = 0; i < words.length; i += 2) {
    a = (a + words[i]! + b) | 0;
    b = (b + words[i + 1]! + a) | 0;
  }
  return [a >>> 0, b >>> 0];
}

/** Undefined while there is no log, or none with a valid header. */
export async function readWalHeader(file: FileHandle): Promise<WalHeader | undefined> {
  const bytes = Buffer.alloc(HEADER_BYTES);
  const { bytesRead } = await file.read(bytes, 0, HEADER_BYTES, 0);
  if (bytesRead < HEADER_BYTES || bytes.readUInt32BE(0) !== MAGIC) return undefined;
  const aligned = Buffer.allocUnsafeSlow(HEADER_BYTES - 8);
  bytes.copy(aligned, 0, 0, HEADER_BYTES - 8);
  const checksum = addToChecksum([0, 0], aligned);
  if (checksum[0] !== bytes.readUInt32BE(24) || checksum[1] !== bytes.readUInt32BE(28)) return undefined;
  const start = { salt: bytes.toString("hex", 16, 24), frame: 0, checksum };
  return { pageSize: bytes.readUInt32BE(8), start };
}

/**
 * How many logs after another one a log began, by their salts; negative if it came before it. For each new log, SQLite adds one to the
 * first salt, in 32 bits, and chooses the second anew. The checkpoint number of the header does not tell: each connection has its own.
 */
export function logsBetween(previous: string, salt: string): number {
  return (Number.parseInt(salt.slice(0, 8), 16) - Number.parseInt(previous.slice(0, 8), 16)) | 0;
}

/** Opens the log of a database; undefined if there is none. SQLite holds no locks on this file, so it may be closed. */
export async function openWal(database: string): Promise<FileHandle | undefined> {
  return open(`${database}-wal`, "r").catch((error: NodeJS.ErrnoException) => {
    if (error.code === "ENOENT") return undefined;
    throw error;
  });
}

export function frameBytes({ pageSize }: Pick<WalHeader, "pageSize">): number {
  return FRAME_HEADER_BYTES + pageSize;
}

function offsetOf(header: Pick<WalHeader, "pageSize">, frame: number): number {
  return HEADER_BYTES + (frame - 1) * frameBytes(header);
}

/** Whether the log still has the frame at this position. */
export async function hasPosition(file: FileHandle, header: WalHeader, position: WalPosition): Promise<boolean> {
  return position.salt === header.start.salt && (position.frame === 0 || (await hasFrame(file, header, position)));
}

/**
 * Whether a log that another one replaced ended at this position. The file keeps the frames of the old log until the new one has as many.
 * @returns false also if its end was overwritten, or cut off because the file was too large
 */
export async function endedAt(file: FileHandle, header: Pick<WalHeader, "pageSize">, position: WalPosition): Promise<boolean> {
  return (await hasFrame(file, header, position)) && (await findLastCommit(file, header, position)).frame === position.frame;
}

async function hasFrame(file: FileHandle, header: Pick<WalHeader, "pageSize">, position: WalPosition): Promise<boolean> {
  const bytes = Buffer.alloc(FRAME_HEADER_BYTES);
  const { bytesRead } = await file.read(bytes, 0, FRAME_HEADER_BYTES, offsetOf(header, position.frame));
  return (
    bytesRead === FRAME_HEADER_BYTES &&
    bytes.toString("hex", 8, 16) === position.salt &&
    bytes.readUInt32BE(16) === position.checksum[0] &&
    bytes.readUInt32BE(20) === position.checksum[1]
  );
}

/** Reads the bytes of the frames after one position up to another one. */
export async function readFrames(file: FileHandle, header: Pick<WalHeader, "pageSize">, from: number, to: number): Promise<Buffer> {
  const bytes = Buffer.allocUnsafeSlow((to - from) * frameBytes(header));
  const { bytesRead } = await file.read(bytes, 0, bytes.length, offsetOf(header, from + 1));
  if (bytesRead !== bytes.length) throw new Error("the write-ahead log is shorter than it was");
  return bytes;
}

/** @returns the position after the last transaction that is complete; `from` if none was added */
export async function findLastCommit(file: FileHandle, header: Pick<WalHeader, "pageSize">, from: WalPosition): Promise<WalPosition> {
  const size = frameBytes(header);
  const chunk = Buffer.allocUnsafeSlow(Math.max(1, Math.floor(CHUNK_BYTES / size)) * size);
  let last = from;
  let at = from;
  for (;;) {
    const { bytesRead } = await file.read(chunk, 0, chunk.length, offsetOf(header, at.frame + 1));
    const count = Math.floor(bytesRead / size);
    for (let i = 0; i < count; i++) {
      const next = nextPosition(at, chunk.subarray(i * size, (i + 1) * size));
      if (next === undefined) return last;
      at = next;
      if (commitPagesAt(chunk, i * size) !== 0) last = at;
    }
    if (count * size < chunk.length) return last;
  }
}

/** Number of pages of the database after the transaction that the frame at this offset ends; 0 if it ends none. */
function commitPagesAt(bytes: Buffer, offset: number): number {
  return bytes.readUInt32BE(offset + 4);
}

/** @param bytes of whole frames. @returns the number of frames up to the last one that ends a transaction */
export function countToLastCommit(bytes: Buffer, header: Pick<WalHeader, "pageSize">): number {
  const size = frameBytes(header);
  let count = bytes.length / size;
  while (count > 0 && commitPagesAt(bytes, (count - 1) * size) === 0) count--;
  return count;
}

/** Undefined if the frame does not follow this position. */
function nextPosition({ salt, frame, checksum }: WalPosition, bytes: Buffer): WalPosition | undefined {
  if (bytes.toString("hex", 8, 16) !== salt) return undefined;
  const sum = addToChecksum(addToChecksum(checksum, bytes.subarray(0, 8)), bytes.subarray(FRAME_HEADER_BYTES));
  if (sum[0] !== bytes.readUInt32BE(16) || sum[1] !== bytes.readUInt32BE(20)) return undefined;
  return { salt, frame: frame + 1, checksum: sum };
}

/** The frames in bytes of a log that follow a position. @throws DamagedFrame */
export function* framesIn(
  bytes: Buffer,
  { pageSize }: Pick<WalHeader, "pageSize">,
  after: WalPosition,
): Generator<WalFrame & { readonly position: WalPosition }> {
  const size = FRAME_HEADER_BYTES + pageSize;
  if (bytes.length % size !== 0) throw new DamagedFrame();
  let position = after;
  for (let at = 0; at < bytes.length; at += size) {
    const frame = bytes.subarray(at, at + size);
    const next = nextPosition(position, frame);
    if (next === undefined) throw new DamagedFrame();
    position = next;
    yield { page: frame.readUInt32BE(0), commitPages: commitPagesAt(frame, 0), bytes: frame.subarray(FRAME_HEADER_BYTES), position };
  }
}
