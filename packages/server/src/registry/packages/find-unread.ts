/**
 * Finds manifests that were pushed before there was a queue of scans, and queues them: in batches, by one server at a
 * time, from where the last search stopped.
 */
import { lockState, readState, writeState } from "../../db/server-state.ts";
import type { ReadDb, Store } from "../../db/store.ts";
import type { Parsers } from "../../jobs/parsers.ts";
import { Code, HoltError } from "../../lib/errors.ts";
import { manifestParser } from "../content/manifest-parsers.ts";
import { findOrganizationsWith } from "./package-origins.ts";
import { readingOf } from "./reading-of.ts";
import { appendScan } from "./scan-queue.ts";

const NAME = "image_scan_search";
/** Manifests per transaction. */
const BATCH_SIZE = 50;
/** Servers of an older version may take pushes until they are replaced, so everything is searched twice. */
const PASSES = 2;
const PASS_INTERVAL_MS = 3_600_000;

interface SearchProgress {
  readonly pass: number;
  /** `repo_uid digest` of the last manifest that was looked at. */
  readonly after: readonly [repoUid: string, digest: string];
  /** When the next batch may be read. */
  readonly due: string;
}

const BEGINNING: SearchProgress = { pass: 0, after: ["", ""], due: "" };

/** Searches one batch. @returns when the next one is due; undefined where the search is complete */
export async function findUnread(store: Store, parsers: Parsers, now: Date): Promise<Date | undefined> {
  const known = JSON.parse((await readState(store.reader, NAME)) ?? JSON.stringify(BEGINNING)) as SearchProgress;
  if (known.pass >= PASSES) return undefined;
  if (known.due > now.toISOString()) return new Date(known.due);
  const found = await readUnread(store.reader, known.after);
  const scannable = await findScannable(found.rows, parsers);
  return store.transaction(async (db) => {
    const progress = await lockState(db, NAME, BEGINNING);
    // Another server was faster.
    if (JSON.stringify(progress) !== JSON.stringify(known)) return now;
    // The search skips further repos that have the same manifest, so its organizations are found now.
    for (const digest of scannable) for (const orgUid of await findOrganizationsWith(db, digest)) await appendScan(db, digest, orgUid, now);
    const next: SearchProgress =
      found.next === undefined ? endOfPass(progress, now) : { ...progress, after: found.next, due: now.toISOString() };
    await writeState(db, NAME, next);
    return next.pass >= PASSES ? undefined : new Date(next.due);
  });
}

function endOfPass({ pass }: SearchProgress, now: Date): SearchProgress {
  return { pass: pass + 1, after: BEGINNING.after, due: new Date(now.getTime() + PASS_INTERVAL_MS).toISOString() };
}

type Key = readonly [repoUid: string, digest: string];

/** Reads the content only of manifests that are not queued. */
async function readUnread(db: ReadDb, after: Key) {
  const rows = await db
    .selectFrom("manifest as m")
    .leftJoin("image_scan as s", "s.digest", "m.digest")
    .select(["m.repo_uid as repo_uid", "m.digest as digest", "m.media_type as media_type"])
    .select((eb) => eb.case().when("s.digest", "is", null).then(eb.ref("m.content")).end().as("content"))
    .where(({ eb, refTuple, tuple }) => eb(refTuple("m.repo_uid", "m.digest"), ">", tuple(...after)))
    .orderBy("m.repo_uid")
    .orderBy("m.digest")
    .limit(BATCH_SIZE)
    .execute();
  const last = rows.at(-1);
  const next: Key | undefined = rows.length < BATCH_SIZE || last === undefined ? undefined : [last.repo_uid, last.digest];
  return { rows, next };
}

type UnreadRow = Awaited<ReturnType<typeof readUnread>>["rows"][number];

/** Scans parse in turns of their own, so that they neither take nor wait for the turns of an organization's uploads. */
export const SCANS = "image scans";

/** The digests with something to read. Reads before the transaction, because a large manifest takes long. */
async function findScannable(rows: readonly UnreadRow[], parsers: Parsers): Promise<string[]> {
  const scannable: string[] = [];
  for (const { digest, content, media_type: contentType } of rows) {
    if (content === null) continue;
    // A manifest that an older version accepted must not stop the search.
    const read = await parsers.run(manifestParser, { content, contentType }, SCANS).catch(ignoreRefusal);
    if (read !== undefined && "manifest" in read && readingOf(read.manifest) !== undefined) scannable.push(digest);
  }
  return scannable;
}

function ignoreRefusal(error: unknown): undefined {
  if (error instanceof HoltError && error.code === Code.INVALID_ARGUMENT) return undefined;
  throw error;
}
