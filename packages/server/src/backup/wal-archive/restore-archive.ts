/** Restores an installation with SQLite as it was at a point in time: the database, and blobs that backups in the same place have. */
import { join } from "node:path";
import { problemsOfSqlite, readSqlite } from "../../db/sqlite-copy.ts";
import { eachConcurrently } from "../../lib/each-concurrently.ts";
import { BlobMissing, claimPlace, restoreBlob, sealedKey, writeKey } from "../restore-backup.ts";
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
  const path = join(dataDir, "holt.db");
  let done = 0;
  await restoreDatabase(target, plan, path, () => report.segment(++done, plan.segments.length));
  const [problem] = problemsOfSqlite(path);
  if (problem !== undefined) throw new Error(`the restored database is damaged (${problem}); restore an earlier time`);
  return { plan, blobs: await restoreBlobs(parts, path, report) };
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
