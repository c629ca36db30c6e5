/** Finds out whether a server that starts can continue the archive where the last one stopped. */
import { type FileHandle, readFile, rename, writeFile } from "node:fs/promises";
import { join } from "node:path";
import type { WalControl } from "../../db/wal-control.ts";
import { endedAt, hasPosition, logsBetween, readWalHeader, type WalHeader, type WalPosition } from "../../db/wal-file.ts";
import type { BackupTarget } from "../target.ts";
import { DamagedSegment, readSegment, type Segment, type SegmentName } from "./archive-form.ts";

/** The last frame of a log, all of which was read. */
export interface ChainEnd extends WalPosition {
  readonly chain: string;
}

interface NextLog {
  readonly after: ChainEnd;
  /** The write that begins the log that follows stores it. So a log that another program began is not taken for it. */
  readonly mark: number;
  /** The frames before the end that were not archived yet. Their log is gone, so a server that was killed needs them. */
  readonly rest: Segment | undefined;
}

/** The frames as base64. */
type StoredNextLog = Omit<NextLog, "rest"> & { readonly rest?: Omit<Segment, "frames"> & { readonly frames: string } };

/** File in the data folder: the end of a log, and how to recognize the one that the server began after it. */
const FILE = "wal-archive.json";

/**
 * Call it before the next log begins. Then a server that is killed at any moment finds either the old log, or the record and the
 * new log.
 */
export async function recordNextLog(dataDir: string, { rest, ...next }: NextLog): Promise<void> {
  const path = join(dataDir, FILE);
  const stored: StoredNextLog = { ...next, ...(rest && { rest: { ...rest, frames: rest.frames.toString("base64") } }) };
  await writeFile(`${path}.new`, JSON.stringify(stored), { mode: 0o600, flush: true });
  await rename(`${path}.new`, path);
}

export interface Resumption {
  readonly chain: string;
  /** Number and time of the last segment. */
  readonly number: number;
  readonly time: number;
  /** Everything up to here is archived, or in the rest. */
  readonly position: WalPosition;
  readonly header: WalHeader;
  /** Comes before the position, and is to be archived first. */
  readonly rest: Segment | undefined;
}

/**
 * Undefined if frames may be missing in between, so that the archive needs a new base.
 * @param last segment of the archive
 */
export async function findResumption(
  last: SegmentName | undefined,
  { target, dataDir, wal }: { readonly target: BackupTarget; readonly dataDir: string; readonly wal: Pick<WalControl, "mark"> },
  file: FileHandle,
): Promise<Resumption | undefined> {
  const header = await readWalHeader(file);
  if (header === undefined || last === undefined) return undefined;
  const segment = await readSegment(target, last).catch((error: unknown) => {
    if (error instanceof DamagedSegment) return undefined;
    throw error;
  });
  if (segment === undefined) return undefined;
  const { chain, number, time } = last;
  const { to } = segment;
  if (await hasPosition(file, header, to)) return { chain, number, time, position: to, header, rest: undefined };
  const known = await readNextLog(dataDir);
  if (known?.after.chain !== chain || logsBetween(known.after.salt, header.start.salt) !== 1) return undefined;
  // A server that was killed while it began the log may have written its header, and not the mark.
  if (known.mark !== wal.mark && !(await endedAt(file, header, known.after))) return undefined;
  const { after, rest } = known;
  const found = { chain, number, time, position: header.start, header };
  if (isAt(to, after)) return { ...found, rest: undefined };
  return rest !== undefined && isAt(rest.from, to) && isAt(rest.to, after) ? { ...found, rest } : undefined;
}

function isAt(position: Pick<WalPosition, "salt" | "frame">, { salt, frame }: Pick<WalPosition, "salt" | "frame">): boolean {
  return position.salt === salt && position.frame === frame;
}

async function readNextLog(dataDir: string): Promise<NextLog | undefined> {
  try {
    const { rest, ...next } = JSON.parse(await readFile(join(dataDir, FILE), "utf8")) as StoredNextLog;
    return { ...next, rest: rest && { ...rest, frames: Buffer.from(rest.frames, "base64") } };
  } catch {
    return undefined;
  }
}
