/** Restores an installation with SQLite as it was at a point in time: the database, and blobs that backups in the same place have. */
import { rename, rm } from "node:fs/promises";
import { sqlitePath } from "../../db/open.ts";
import { problemsOfSqlite, readSqlite } from "../../db/sqlite-copy.ts";
import { eachConcurrently } from "../../lib/each-concurrently.ts";
import { BlobMissing, claimPlace, isDatabaseRestored, restoreBlob, sealedKey, writeKey } from "../restore-backup.ts";
import type { RestoredBlobs } from "../restored-blobs.ts";
import { type ListedBlob, listSnapshots, readSnapshot } from "../snapshot.ts";
import type { BackupTarget } from "../target.ts";
import { planRestore, type RestorePlan, restoreDatabase } from "./restore-point.ts";

const CONCURRENCY = 4;

export interface PointParts {
  readonly target: BackupTarget;
  /** Milliseconds since 1970. */
  readonly at: number;
  readonly dataDir: string;
  readonly passphrase: string;
  /** Number of migrations that this program knows. */
  readonly schema: number;
  openBlobs(): Promise<RestoredBlobs>;
}

export interface PointReport {
  segment(done: number, total: number): void;
  blob(blob: ListedBlob): void;
}

export interface RestoredPoint {
  readonly plan: RestorePlan;
  readonly blobs: { readonly present: number; readonly copied: number; readonly missing: number };
}

/** @throws Error for the operator */
export async function restorePoint(parts: PointParts, report: PointReport): Promise<RestoredPoint> {
  const { target, dataDir, schema } = parts;
  const plan = await planRestore(target, parts.at);
  if (plan.base.schema > schema)
    throw new Error(`the archive is of a newer Holt (${plan.base.version}, schema ${plan.base.schema}); this program knows ${schema}`);
  const key = await keyOfBackups(parts);
  // A bucket usually survives the disk, so it may have blobs.
  await claimPlace({ dataDir, databaseUrl: "" }, JSON.stringify({ target: target.name, at: plan.time }), undefined);
  await writeKey(dataDir, key);
  const blobs = isDatabaseRestored(dataDir)
    ? await restoreBlobs(parts, sqlitePath(dataDir), report)
    : await restoreAll(parts, plan, report);
  return { plan, blobs };
}

/** The database gets its name when its blobs are there, so an interrupted restore leaves none. */
async function restoreAll(parts: PointParts, plan: RestorePlan, report: PointReport): Promise<RestoredPoint["blobs"]> {
  const path = sqlitePath(parts.dataDir);
  const unfinished = `${path}.unfinished`;
  await removeSqlite(unfinished);
  let done = 0;
  await restoreDatabase(parts.target, plan, unfinished, () => report.segment(++done, plan.segments.length));
  const [problem] = problemsOfSqlite(unfinished);
  if (problem !== undefined) throw new Error(`the restored database is damaged (${problem}); restore an earlier time`);
  const blobs = await restoreBlobs(parts, unfinished, report);
  await rename(unfinished, path);
  await removeSqlite(unfinished);
  return blobs;
}

/** Removes the database file and the files that SQLite creates beside it for readers. */
async function removeSqlite(path: string): Promise<void> {
  for (const suffix of ["", "-wal", "-shm"]) await rm(path + suffix, { force: true });
}

async function keyOfBackups({ target, passphrase }: PointParts): Promise<Uint8Array | undefined> {
  const name = (await listSnapshots(target)).complete.at(-1);
  return name === undefined ? undefined : sealedKey({ target, snapshot: await readSnapshot(target, name), passphrase });
}

async function restoreBlobs({ target, openBlobs }: PointParts, path: string, report: PointReport): Promise<RestoredPoint["blobs"]> {
  const count = { present: 0, copied: 0, missing: 0 };
  await using blobs = await openBlobs();
  await eachConcurrently(readSqlite<ListedBlob>(path, "select digest, size from blob"), CONCURRENCY, async (blob) => {
    if (await blobs.has(blob)) count.present++;
    else
      await restoreBlob(target, blobs, blob).then(
        () => void count.copied++,
        (error: unknown) => {
          if (!(error instanceof BlobMissing)) throw error;
          count.missing++;
        },
      );
    report.blob(blob);
  });
  return count;
}
