/** When a mirror's feed is fetched next, and what is remembered of what came of it. Callers hold the transaction. */
import { create } from "@bufbuild/protobuf";
import type { AdvisoryMirror, AdvisoryMirrorStatus } from "@holt/api/gen/holt/v1/advisory_mirrors_pb.ts";
import { ImportCountsSchema } from "@holt/api/gen/holt/v1/imports_pb.ts";
import type { Selectable } from "kysely";
import type { WriteDb } from "../../db/store.ts";
import { timestampFromDate } from "../../lib/clock.ts";
import { parentOf } from "../../lib/uid.ts";
import { countsOf, type ImportRow, kinds, newImportRow } from "../import/remote/import-row.ts";
import type { AdvisoryMirrorRunTable } from "../tables.ts";
import { intervalOf, lockMirror, storeStatus } from "./mirror-resource.ts";

export type MirrorRun = Selectable<AdvisoryMirrorRunTable>;

/** After a mirror was made or got another feed: time to put a mistake right. */
export const FIRST_MS = 60_000;
const BACKOFF_MS = 5 * 60_000;
const MAX_BACKOFF_MS = 24 * 3_600_000;
const JITTER = 0.2;

/** What is known of the feed as it was imported last; nothing of one that never was. */
export const UNKNOWN_FEED = { etag: "", last_modified: "", digest: "" };

/** Before the next attempt, after so many that failed. Spread, so that what failed together is not tried together. */
export function backoffMs(failures: number, random: () => number = Math.random): number {
  const wait = BACKOFF_MS * 2 ** Math.min(failures - 1, 20);
  return Math.min(MAX_BACKOFF_MS, wait * (1 - JITTER + 2 * JITTER * random()));
}

/** How an attempt to fetch ended. */
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

/** @param file of the attempt, which is its claim. False where that is another's by now, or the mirror is gone */
export async function attemptEnded(db: WriteDb, uid: string, file: string, fetched: Fetched, begun: Date, now: Date): Promise<boolean> {
  const mirror = await lockMirror(db, uid);
  const run = await lockRun(db, uid);
  if (mirror === undefined || run?.file !== file) return false;
  const status = { lastAttemptTime: timestampFromDate(begun), httpStatus: fetched.status };
  const isSame = fetched.outcome === "file" && fetched.digest === run.digest;
  if (fetched.outcome === "failed") await fail(db, mirror, run, fetched.error, fetched.retryAfterMs, now, status);
  else if (fetched.outcome === "unchanged" || isSame) await succeed(db, mirror, {}, now, status);
  else await beginMirrorImport(db, mirror, run, { ...fetched, file }, now, status);
  return fetched.outcome === "file" && !isSame;
}

type Downloaded = Extract<Fetched, { outcome: "file" }> & { readonly file: string };

async function beginMirrorImport(
  db: WriteDb,
  mirror: AdvisoryMirror,
  { session }: MirrorRun,
  { file, size, etag, lastModified, digest }: Downloaded,
  now: Date,
  status: Partial<AdvisoryMirrorStatus>,
): Promise<void> {
  const { uid: mirrorUid, url } = mirror;
  const parent = parentOf(mirrorUid);
  const kind = kinds.get(mirror.kind) ?? "advisories";
  // Of the finished ones, whose problems may be many, the last is enough.
  await db.deleteFrom("advisory_import").where("mirror_uid", "=", mirrorUid).where("end_time", "is not", null).execute();
  const time = now.toISOString();
  const uid = `${parent}/${file.replaceAll("-", "").slice(0, 16)}`;
  const begun = { state: "waiting" as const, start_time: time, received_bytes: size, session, approves: 1, may_delete: 1 };
  const feed = { etag, last_modified: lastModified, digest };
  const row = newImportRow({ uid, parent, kind, file, file_name: nameOf(url), mirror_uid: mirrorUid, ...begun, ...feed }, time);
  await db.insertInto("advisory_import").values(row).execute();
  await storeRun(db, mirrorUid, { import_uid: uid, next_time: null, file: null, lease_time: null });
  await storeStatus(db, mirror, { ...status, error: "", nextTime: undefined, lastImport: uid });
}

/** To be called where an import ended: the mirror that it is of, if any, goes on. @param error empty where all that can be read is stored */
export async function importEnded(db: WriteDb, row: ImportRow, error: string, now: Date): Promise<void> {
  if (row.mirror_uid === null) return;
  const mirror = await lockMirror(db, row.mirror_uid);
  const run = await lockRun(db, row.mirror_uid);
  // It may have got another feed meanwhile.
  if (mirror === undefined || run?.import_uid !== row.uid) return;
  if (error !== "") return fail(db, mirror, run, error, 0, now);
  const { etag, last_modified, digest } = row;
  await succeed(db, mirror, { etag, last_modified, digest }, now, { counts: create(ImportCountsSchema, countsOf(row)) });
}

/** The same for one that is about to be deleted. */
export async function importGone(db: WriteDb, row: ImportRow, error: string, now: Date): Promise<void> {
  if (row.end_time === null) await importEnded(db, row, error, now);
}

async function succeed(db: WriteDb, mirror: AdvisoryMirror, feed: Partial<MirrorRun>, now: Date, status: Partial<AdvisoryMirrorStatus>) {
  const next = new Date(now.getTime() + intervalOf(mirror));
  await storeRun(db, mirror.uid, { ...feed, ...FREE, failures: 0, next_time: next.toISOString() });
  const times = { lastSuccessTime: timestampFromDate(now), nextTime: timestampFromDate(next) };
  await storeStatus(db, mirror, { ...status, ...times, error: "" });
}

async function fail(
  db: WriteDb,
  mirror: AdvisoryMirror,
  run: MirrorRun,
  error: string,
  retryAfterMs: number,
  now: Date,
  status: Partial<AdvisoryMirrorStatus> = {},
) {
  const failures = run.failures + 1;
  const next = new Date(now.getTime() + Math.ceil(Math.max(backoffMs(failures), retryAfterMs)));
  await storeRun(db, mirror.uid, { ...FREE, failures, next_time: next.toISOString() });
  await storeStatus(db, mirror, { ...status, error, nextTime: timestampFromDate(next) });
}

const FREE = { import_uid: null, file: null, lease_time: null };

export async function lockRun(db: WriteDb, uid: string): Promise<MirrorRun | undefined> {
  return db.dialect.forUpdate(db.selectFrom("advisory_mirror_run").selectAll().where("mirror_uid", "=", uid)).executeTakeFirst();
}

export async function storeRun(db: WriteDb, uid: string, change: Partial<MirrorRun>): Promise<void> {
  await db.updateTable("advisory_mirror_run").set(change).where("mirror_uid", "=", uid).execute();
}

const MAX_NAME = 255;

/** What a feed's file is called: the last part of the URL's path, or its host. */
function nameOf(url: string): string {
  const { pathname, host } = new URL(url);
  return (pathname.split("/").findLast((part) => part !== "") ?? host).slice(0, MAX_NAME);
}
