/** Finds out whether a server that starts can continue the archive where the last one stopped. */
import { type FileHandle, readFile, rename, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { hasPosition, readWalHeader, type WalHeader, type WalPosition } from "../../db/wal-file.ts";
import type { BackupTarget } from "../target.ts";
import { DamagedSegment, listSegments, readSegment } from "./archive-form.ts";

/** The last frame of a log, all of which was read. */
export interface ChainEnd {
  readonly chain: string;
  readonly salt: string;
  readonly frame: number;
}

interface NextLog {
  readonly after: ChainEnd;
  /** Of the log that follows. */
  readonly next: string;
}

/** File in the data folder: the log that the server began last, and the end of the one before. */
const FILE = "wal-archive.json";

export async function recordNextLog(dataDir: string, next: NextLog): Promise<void> {
  const path = join(dataDir, FILE);
  await writeFile(`${path}.new`, JSON.stringify(next), { mode: 0o600, flush: true });
  await rename(`${path}.new`, path);
}

export interface Resumption {
  readonly chain: string;
  /** Of the last segment. */
  readonly number: number;
  readonly time: number;
  /** Everything up to here is archived. */
  readonly position: WalPosition;
  readonly header: WalHeader;
}

/** Undefined if frames may be missing in between, so that the archive needs a new base. */
export async function findResumption(
  { target, dataDir }: { readonly target: BackupTarget; readonly dataDir: string },
  file: FileHandle,
): Promise<Resumption | undefined> {
  const header = await readWalHeader(file);
  const last = (await listSegments(target)).at(-1);
  if (header === undefined || last === undefined) return undefined;
  const segment = await readSegment(target, last).catch((error: unknown) => {
    if (error instanceof DamagedSegment) return undefined;
    throw error;
  });
  if (segment === undefined) return undefined;
  const { chain, number, time } = last;
  const { to } = segment;
  if (await hasPosition(file, header, to)) return { chain, number, time, position: to, header };
  const known = await readNextLog(dataDir);
  const isNext = known?.after.chain === chain && known.after.salt === to.salt && known.after.frame === to.frame;
  return isNext && known.next === header.start.salt ? { chain, number, time, position: header.start, header } : undefined;
}

async function readNextLog(dataDir: string): Promise<NextLog | undefined> {
  try {
    return JSON.parse(await readFile(join(dataDir, FILE), "utf8")) as NextLog;
  } catch {
    return undefined;
  }
}
