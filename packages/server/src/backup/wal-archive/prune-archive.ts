/** Removes what no restore within the retention needs. */
import type { BackupTarget } from "../target.ts";
import { BASES, type Base, basePath, listBases, listSegments, segmentPath } from "./archive-form.ts";

/**
 * Keeps the newest base before `since`, which restores to that time need, and everything after it.
 * @param current the chain that the server continues
 */
export async function pruneArchive(target: BackupTarget, since: number, current: string): Promise<void> {
  const bases = await listBases(target);
  const first = bases.findLastIndex(({ time }) => time <= since);
  const kept = bases.slice(Math.max(0, first));
  for (const { time } of bases.slice(0, Math.max(0, first))) await removeBase(target, time);
  const firstNeeded = firstSegments(kept);
  const segments = await listSegments(target);
  // The next start of the server finds by it where the chain ends.
  const last = segments.findLast(({ chain }) => chain === current);
  for (const segment of segments) {
    const { chain, number } = segment;
    const needed = firstNeeded.get(chain);
    const isNeeded = needed === undefined ? chain === current : number >= needed;
    if (!isNeeded && segment !== last) await target.remove(segmentPath(segment));
  }
}

async function removeBase(target: BackupTarget, time: number): Promise<void> {
  // Without this file the base is not complete any more.
  await target.remove(basePath(time, "base.json"));
  for await (const { path } of target.list(`${BASES}/${time}`)) await target.remove(path);
}

function firstSegments(bases: readonly Base[]): Map<string, number> {
  const first = new Map<string, number>();
  for (const { chain, nextSegment } of bases) first.set(chain, Math.min(nextSegment, first.get(chain) ?? nextSegment));
  return first;
}
