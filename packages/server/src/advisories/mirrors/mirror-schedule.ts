/** Decides when the feed of a mirror is fetched next, and stores the outcomes of fetches and imports. The caller has the transaction. */
import { create } from "@bufbuild/protobuf";
import type { AdvisoryMirror, AdvisoryMirrorStatus } from "@holt/api/gen/holt/v1/advisory_mirrors_pb.ts";
import { ImportCountsSchema } from "@holt/api/gen/holt/v1/imports_pb.ts";
import type { Selectable } from "kysely";
import type { WriteDb } from "../../db/store.ts";
import { RELEASED } from "../../jobs/lease.ts";
import { timestampFromDate } from "../../lib/clock.ts";
import { parentOf } from "../../lib/uid.ts";
import { countsOf, fileNameOf, type ImportRow, kinds, newImportRow } from "../import/remote/import-row.ts";
import type { AdvisoryMirrorRunTable } from "../tables.ts";
import { intervalOf, lockMirror, storeStatus } from "./mirror-resource.ts";

export type MirrorRun = Selectable<AdvisoryMirrorRunTable>;

/** The wait before the first fetch of a new mirror or a new URL: time to correct a mistake. */
export const FIRST_MS = 60_000;
const BACKOFF_MS = 5 * 60_000;
const MAX_BACKOFF_MS = 24 * 3_600_000;
const JITTER = 0.2;

/** The stored state of a feed that was never imported. */
export const UNKNOWN_FEED = { etag: "", last_modified: "", digest: "" };

/** No fetch and no import of the mirror is under way. */
export const IDLE = { ...RELEASED, import_uid: null, file: null };

/** The wait after this number of failures in a row. Randomized, so that feeds that failed together are not retried together. */
function backoffMs(failures: number): number {
  const wait = BACKOFF_MS * 2 ** Math.min(failures - 1, 20);
  return Math.min(MAX_BACKOFF_MS, wait * (1 - JITTER + 2 * JITTER * Math.random()));
}

/** How a fetch ended. */
export type Fetched =
  | { readonly outcome: "unchanged"; readonly status: number }
  | { readonly outcome: "failed"; readonly status: number; readonly error: string; readonly retryAfterMs: number }
  | {
      readonly outcome: "file";
      readonly status: number;
      readonly size: number;
      readonly etag: string;
      readonly lastModified: string;
      readonly digest: string;
    };

export interface Attempt {
  /** Uid of the mirror. */
  readonly uid: string;
  /** The staged file of the fetch. */
  readonly file: string;
  readonly begun: Date;
}

/** A mirror and its run, which the transaction has locked in this order. */
interface LockedMirror {
  readonly db: WriteDb;
  readonly mirror: AdvisoryMirror;
  readonly run: MirrorRun;
  readonly now: Date;
}

/**
 * @returns whether the file is needed: an import of it waits. False where the mirror is deleted, or its run names the
 * file of another fetch by now
 */
export async function attemptEnded(db: WriteDb, { uid, file, begun }: Attempt, fetched: Fetched, now: Date): Promise<boolean> {
  const locked = await lockBoth(db, uid, now);
  if (locked?.run.file !== file) return false;
  const status = { lastAttemptTime: timestampFromDate(begun), httpStatus: fetched.status };
  const isSame = fetched.outcome === "file" && fetched.digest === locked.run.digest;
  if (fetched.outcome === "failed") await storeFailure(locked, fetched, status);
  else if (fetched.outcome === "unchanged" && isUnknown(locked.run)) await storeDue(locked, status);
  else if (fetched.outcome === "unchanged" || isSame) await storeSuccess(locked, {}, status);
  else await beginMirrorImport(locked, { ...fetched, file }, status);
  return fetched.outcome === "file" && !isSame;
}

type Downloaded = Extract<Fetched, { outcome: "file" }> & { readonly file: string };

async function beginMirrorImport(locked: LockedMirror, downloaded: Downloaded, status: Partial<AdvisoryMirrorStatus>): Promise<void> {
  const { db, mirror, run, now } = locked;
  // Earlier imports may have many problems: the last one is enough.
  await db.deleteFrom("advisory_import").where("mirror_uid", "=", mirror.uid).where("end_time", "is not", null).execute();
  const row = importOf(mirror, run, downloaded, now.toISOString());
  await db.insertInto("advisory_import").values(row).execute();
  await storeRun(db, mirror.uid, { ...IDLE, import_uid: row.uid, next_time: null });
  await storeStatus(db, mirror, { ...status, error: "", nextTime: undefined, lastImport: row.uid });
}

function importOf({ uid: mirrorUid, url, kind }: AdvisoryMirror, { session }: MirrorRun, downloaded: Downloaded, time: string): ImportRow {
  const { file, size, etag, lastModified, digest } = downloaded;
  const parent = parentOf(mirrorUid);
  return newImportRow(
    {
      uid: `${parent}/${file.replaceAll("-", "").slice(0, 16)}`,
      parent,
      kind: kinds.get(kind) ?? "advisories",
      file,
      file_name: fileNameOf(url),
      mirror_uid: mirrorUid,
      state: "waiting",
      start_time: time,
      received_bytes: size,
      session,
      approves: 1,
      may_delete: 1,
      etag,
      last_modified: lastModified,
      digest,
    },
    time,
  );
}

/**
 * Call it when an import ends: schedules the mirror that it belongs to, if any. @param error empty where
 * everything readable is stored
 */
export async function importEnded(db: WriteDb, row: ImportRow, error: string, now: Date): Promise<void> {
  if (row.mirror_uid === null) return;
  const locked = await lockBoth(db, row.mirror_uid, now);
  // The mirror may have got another URL meanwhile.
  if (locked?.run.import_uid !== row.uid) return;
  if (error !== "") return storeFailure(locked, { error, retryAfterMs: 0 });
  const { etag, last_modified, digest } = row;
  await storeSuccess(locked, { etag, last_modified, digest }, { counts: create(ImportCountsSchema, countsOf(row)) });
}

/** Call it before an import is deleted: schedules the mirror of an import that has not ended. */
export async function importDeleted(db: WriteDb, row: ImportRow, error: string, now: Date): Promise<void> {
  if (row.end_time === null) await importEnded(db, row, error, now);
}

/** Whether the whole feed was asked for while a fetch was under way that had asked for changes only. */
function isUnknown({ etag, last_modified }: MirrorRun): boolean {
  return etag === UNKNOWN_FEED.etag && last_modified === UNKNOWN_FEED.last_modified;
}

/** Has the feed fetched again at once. */
async function storeDue({ db, mirror, now }: LockedMirror, status: Partial<AdvisoryMirrorStatus>): Promise<void> {
  await storeRun(db, mirror.uid, { ...IDLE, next_time: now.toISOString() });
  await storeStatus(db, mirror, { ...status, nextTime: timestampFromDate(now) });
}

async function storeSuccess({ db, mirror, now }: LockedMirror, feed: Partial<MirrorRun>, status: Partial<AdvisoryMirrorStatus>) {
  const next = new Date(now.getTime() + intervalOf(mirror));
  await storeRun(db, mirror.uid, { ...feed, ...IDLE, failures: 0, next_time: next.toISOString() });
  const times = { lastSuccessTime: timestampFromDate(now), nextTime: timestampFromDate(next) };
  await storeStatus(db, mirror, { ...status, ...times, error: "" });
}

interface Failure {
  readonly error: string;
  readonly retryAfterMs: number;
}

async function storeFailure(
  { db, mirror, run, now }: LockedMirror,
  { error, retryAfterMs }: Failure,
  status: Partial<AdvisoryMirrorStatus> = {},
) {
  const failures = run.failures + 1;
  const next = new Date(now.getTime() + Math.ceil(Math.max(backoffMs(failures), retryAfterMs)));
  await storeRun(db, mirror.uid, { ...IDLE, failures, next_time: next.toISOString() });
  await storeStatus(db, mirror, { ...status, error, nextTime: timestampFromDate(next) });
}

async function lockBoth(db: WriteDb, uid: string, now: Date): Promise<LockedMirror | undefined> {
  const mirror = await lockMirror(db, uid);
  const run = await lockRun(db, uid);
  return mirror === undefined || run === undefined ? undefined : { db, mirror, run, now };
}

export async function lockRun(db: WriteDb, uid: string): Promise<MirrorRun | undefined> {
  return db.dialect.forUpdate(db.selectFrom("advisory_mirror_run").selectAll().where("mirror_uid", "=", uid)).executeTakeFirst();
}

export async function storeRun(db: WriteDb, uid: string, change: Partial<MirrorRun>): Promise<void> {
  await db.updateTable("advisory_mirror_run").set(change).where("mirror_uid", "=", uid).execute();
}
