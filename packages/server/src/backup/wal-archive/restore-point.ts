/** Restores the database of a point in time from an archive of its write-ahead log. */
import { createHash } from "node:crypto";
import { createWriteStream } from "node:fs";
import { type FileHandle, open, rename, rm } from "node:fs/promises";
import { pipeline } from "node:stream/promises";
import { createZstdDecompress } from "node:zlib";
import { DamagedFrame, framesIn, logsBetween } from "../../db/wal-file.ts";
import { hashing } from "../snapshot.ts";
import { type BackupTarget, NoSuchObject } from "../target.ts";
import {
  BASE_FILE,
  type Base,
  basePath,
  DamagedSegment,
  listBases,
  listSegments,
  readSegment,
  type Segment,
  type SegmentName,
  segmentPath,
} from "./archive-form.ts";

/** The parts that a restore applies: a base, and the frames of segments up to the last transaction. */
export interface RestorePlan {
  readonly base: Base;
  readonly segments: readonly SegmentName[];
  /** Number of the frame in the last segment after which the restore ends. */
  readonly lastFrame: number;
  /** Time of the last transaction, or of the base. */
  readonly time: number;
  /** Time from which a later base exists. The archive has nothing between the end of the segments and it. */
  readonly gapUntil: number | undefined;
}

/** @param at in milliseconds since 1970 @throws Error for the operator */
export async function planRestore(target: BackupTarget, at: number): Promise<RestorePlan> {
  const bases = await listBases(target);
  const base = bases.findLast(({ time }) => time <= at);
  if (base === undefined) {
    const first = bases[0];
    throw new Error(
      first === undefined
        ? `${target.name} is not an archive of a write-ahead log, or has no base yet`
        : `the archive begins at ${new Date(first.time).toISOString()}`,
    );
  }
  const listed = (await listSegments(target, base.chain)).filter(({ number }) => number >= base.nextSegment);
  const segments = listed.filter(({ number }, index) => listed[index + 1]?.number !== number);
  assertComplete(base, segments);
  const later = bases.find(({ chain, time }) => time > base.time && chain !== base.chain);
  const end = await findEnd(target, segments, at);
  const time = end?.time ?? base.time;
  const isAtEnd = end === undefined || end.count === segments.length;
  const gapUntil = later !== undefined && isAtEnd ? later.time : undefined;
  return { base, segments: segments.slice(0, end?.count ?? 0), lastFrame: end?.frame ?? 0, time: Math.max(time, base.time), gapUntil };
}

function assertComplete(base: Base, segments: readonly SegmentName[]): void {
  for (const [index, segment] of segments.entries()) {
    const number = base.nextSegment + index;
    if (segment.number === number) continue;
    const path = segmentPath({ ...segment, number }).replace(/-\d+$/, "");
    throw new Error(
      `the segment ${path} of the archive is missing; name a time before ${new Date(segments[index - 1]?.time ?? base.time).toISOString()}`,
    );
  }
}

/** The last transaction until a time. Only segments around that time are read. */
async function findEnd(target: BackupTarget, segments: readonly SegmentName[], at: number) {
  const beyond = segments.findIndex(({ time }) => time > at);
  const reaches = beyond === -1 ? segments.length : beyond;
  // The next segment may begin with transactions until that time, unless the one before ends at it.
  const last = beyond === -1 || segments[beyond - 1]?.time === at ? reaches - 1 : beyond;
  for (let index = last; index >= 0; index--) {
    const { commits } = await readNamed(target, segments, index);
    const commit = commits.findLast(({ time }) => time <= at);
    if (commit !== undefined) return { count: index + 1, frame: commit.frame, time: commit.time };
  }
  return undefined;
}

async function readNamed(target: BackupTarget, segments: readonly SegmentName[], index: number): Promise<Segment> {
  const name = segments[index];
  if (name === undefined) throw new Error(`there is no segment ${index}`);
  try {
    return await readSegment(target, name);
  } catch (error) {
    if (!(error instanceof DamagedSegment || error instanceof NoSuchObject)) throw error;
    const before = segments[index - 1];
    const advice = before === undefined ? "" : `; the time ${new Date(before.time).toISOString()} can be restored`;
    throw new Error(`the segment ${segmentPath(name)} of the archive is damaged${advice}`, { cause: error });
  }
}

/** @param onSegment called after each segment */
export async function restoreDatabase(target: BackupTarget, plan: RestorePlan, path: string, onSegment: () => void): Promise<void> {
  const partial = `${path}.restoring`;
  try {
    await restoreBase(target, plan.base, partial);
    await using file = await open(partial, "r+");
    for (const index of plan.segments.keys()) {
      await applySegment(file, await readNamed(target, plan.segments, index), plan, index === plan.segments.length - 1);
      onSegment();
    }
    await file.sync();
  } catch (error) {
    await rm(partial, { force: true });
    throw error;
  }
  await rename(partial, path);
}

async function restoreBase(target: BackupTarget, { time, sha256 }: Base, path: string): Promise<void> {
  const compressed = await target.read(basePath(time, BASE_FILE));
  const hash = createHash("sha256");
  const meter = hashing(hash);
  const name = basePath(time, BASE_FILE);
  await pipeline(compressed, meter.stream, createZstdDecompress(), createWriteStream(path, { mode: 0o600 })).catch((error: Error) => {
    if ((error as NodeJS.ErrnoException).code?.startsWith("ZSTD") !== true) throw error;
    throw new Error(`${name} of the archive is damaged`, { cause: error });
  });
  if (hash.digest("hex") !== sha256) throw new Error(`${name} of the archive is damaged`);
}

/** Writes pages that belong to transactions until the end of the plan. The archive has only complete ones. */
async function applySegment(file: FileHandle, segment: Segment, { base, lastFrame }: RestorePlan, isLast: boolean): Promise<void> {
  const { pageSize, from, frames } = segment;
  const logsAfterBase = logsBetween(base.position.salt, from.salt);
  // A base may be newer than segments that were written after it.
  if (logsAfterBase < 0) return;
  try {
    for (const { page, commitPages, bytes, position } of framesIn(frames, segment, from)) {
      if (isLast && position.frame > lastFrame) return;
      if (logsAfterBase === 0 && position.frame <= base.position.frame) continue;
      await file.write(bytes, 0, bytes.length, (page - 1) * pageSize);
      if (commitPages !== 0) await file.truncate(commitPages * pageSize);
    }
  } catch (error) {
    if (error instanceof DamagedFrame)
      throw new Error(`a segment with frames after ${from.frame} of the archive is damaged`, { cause: error });
    throw error;
  }
}
