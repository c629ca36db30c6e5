/**
 * The form of an archive of SQLite's write-ahead log. A chain is an unbroken run of frames, in numbered segments
 * `wal/<chain>/<number>-<time of the last commit>`. A base is a copy of the database at a position of a chain, in
 * `bases/<time>/`, where `base.json` is written last. Times in names are milliseconds since 1970.
 */
import { createHash } from "node:crypto";
import { Readable } from "node:stream";
import { buffer, text } from "node:stream/consumers";
import { promisify } from "node:util";
import { zstdCompress, zstdDecompress } from "node:zlib";
import type { WalPosition } from "../../db/wal-file.ts";
import { type BackupTarget, NoSuchObject } from "../target.ts";

export const FORMAT = 1;
export const BASES = "bases";
export const CHAINS = "wal";
export const BASE_FILE = "holt.db.zst";

const NUMBER_DIGITS = 10;
const SEGMENT = /^wal\/([0-9a-z-]+)\/(\d{10})-(\d{13})$/;
const BASE = /^bases\/(\d{13})\/base\.json$/;

/** A transaction, by the frame that ends it. */
export interface Commit {
  readonly frame: number;
  /** When the server saw it. */
  readonly time: number;
}

export interface SegmentName {
  readonly chain: string;
  readonly number: number;
  /** Time of the last commit up to the end of the segment. */
  readonly time: number;
}

export interface Segment {
  readonly pageSize: number;
  readonly from: WalPosition;
  readonly to: WalPosition;
  readonly commits: readonly Commit[];
  readonly frames: Buffer;
}

export interface Base {
  readonly format: typeof FORMAT;
  readonly time: number;
  readonly chain: string;
  /** The first segment that may have frames after the base. */
  readonly nextSegment: number;
  readonly position: WalPosition;
  readonly size: number;
  readonly sha256: string;
  /** Version of the program, and number of migrations. */
  readonly version: string;
  readonly schema: number;
}

export function segmentPath({ chain, number, time }: SegmentName): string {
  return `${CHAINS}/${chain}/${String(number).padStart(NUMBER_DIGITS, "0")}-${time}`;
}

export function basePath(time: number, file: string): string {
  return `${BASES}/${time}/${file}`;
}

const compress = promisify(zstdCompress);
const decompress = promisify(zstdDecompress);

export async function writeSegment(target: BackupTarget, name: SegmentName, segment: Segment): Promise<void> {
  const { frames, ...head } = segment;
  const body = Buffer.concat([Buffer.from(`${JSON.stringify(head)}\n`), await compress(frames)]);
  const bytes = Buffer.concat([Buffer.from(`${createHash("sha256").update(body).digest("hex")}\n`), body]);
  await target.write(segmentPath(name), Readable.from([bytes]));
}

const HASH_LENGTH = 64;

/** @throws DamagedSegment, NoSuchObject */
export async function readSegment(target: BackupTarget, name: SegmentName): Promise<Segment> {
  const path = segmentPath(name);
  const bytes = await buffer(await target.read(path));
  const body = bytes.subarray(HASH_LENGTH + 1);
  if (createHash("sha256").update(body).digest("hex") !== bytes.toString("latin1", 0, HASH_LENGTH)) throw new DamagedSegment(path);
  const end = body.indexOf("\n");
  const head = JSON.parse(body.toString("utf8", 0, end)) as Omit<Segment, "frames">;
  const frames = await decompress(body.subarray(end + 1));
  // The checksums of SQLite are computed on aligned words.
  const aligned = Buffer.allocUnsafeSlow(frames.length);
  frames.copy(aligned);
  return { ...head, frames: aligned };
}

export class DamagedSegment extends Error {
  constructor(path: string) {
    super(`the segment ${path} of the archive is damaged`);
  }
}

/**
 * The segments of one chain or of all: chains from the oldest to the newest, and their segments in the order of the numbers. A segment
 * whose write failed may be stored all the same, and then again with more frames: the one with all frames comes last.
 */
export async function listSegments(target: BackupTarget, chain?: string): Promise<SegmentName[]> {
  const found: SegmentName[] = [];
  for await (const { path } of target.list(chain === undefined ? CHAINS : `${CHAINS}/${chain}`)) {
    const [, name, number, time] = SEGMENT.exec(path) ?? [];
    if (name !== undefined) found.push({ chain: name, number: Number(number), time: Number(time) });
  }
  return found.sort((a, b) => (a.chain === b.chain ? a.number - b.number || a.time - b.time : a.chain < b.chain ? -1 : 1));
}

/** The complete bases, from the oldest to the newest. */
export async function listBases(target: BackupTarget): Promise<Base[]> {
  const paths: string[] = [];
  for await (const { path } of target.list(BASES)) if (BASE.test(path)) paths.push(path);
  const bases = await Promise.all(paths.sort().map(async (path) => readBase(target, path)));
  return bases.filter((base) => base !== undefined);
}

async function readBase(target: BackupTarget, path: string): Promise<Base | undefined> {
  try {
    const base = JSON.parse(await text(await target.read(path))) as Base;
    if (base.format !== FORMAT) throw new Error(`${path} has format ${base.format}; this program reads format ${FORMAT}`);
    return base;
  } catch (error) {
    // The retention may have removed it meanwhile.
    if (error instanceof NoSuchObject) return undefined;
    throw error;
  }
}
