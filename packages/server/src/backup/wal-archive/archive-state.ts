/** Compares an archive of a write-ahead log with the database, without a server. */
import { findLastCommit, openWal, readWalHeader } from "../../db/wal-file.ts";
import { type BackupTarget, NoSuchObject } from "../target.ts";
import { listBases, listSegments, readSegment } from "./archive-form.ts";

export interface ArchiveState {
  /** Time of the newest base, in milliseconds since 1970; undefined if there is none. */
  readonly baseTime: number | undefined;
  /** Whether the archive has the last transaction of the database's log. */
  readonly isCurrent: boolean;
}

/** A server removes what it does not need right after a base, and makes bases hours apart. */
const MAX_READS = 3;

/** @param path of the database */
export async function readArchiveState(target: BackupTarget, path: string): Promise<ArchiveState> {
  for (let reads = 1; ; reads++) {
    try {
      return await readState(target, path);
    } catch (error) {
      if (!(error instanceof NoSuchObject) || reads === MAX_READS) throw error;
    }
  }
}

/** @throws NoSuchObject if the server removes a segment meanwhile */
async function readState(target: BackupTarget, path: string): Promise<ArchiveState> {
  const base = (await listBases(target)).at(-1);
  const baseTime = base?.time;
  const last = base && (await listSegments(target, base.chain)).at(-1);
  const archived = last === undefined ? base?.position : (await readSegment(target, last)).to;
  await using file = await openWal(path);
  const header = file && (await readWalHeader(file));
  if (file === undefined || header === undefined) return { baseTime, isCurrent: archived !== undefined };
  const seen = await findLastCommit(file, header, header.start);
  // A base may be newer than the last segment.
  const covered = [archived, base?.position].some((position) => position?.salt === seen.salt && position.frame >= seen.frame);
  return { baseTime, isCurrent: covered };
}
