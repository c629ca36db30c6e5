/** Finds manifests that nobody has put into the queue: those that were pushed before there was one. Goes on where it was cut short, piece by piece, by one server at a time. */
import { lockState, readState, writeState } from "../../db/server-state.ts";
import type { ReadDb, Store } from "../../db/store.ts";
import { parseManifest } from "../content/manifest.ts";
import { OciError } from "../oci-error.ts";
import { organizationsWith } from "./package-origins.ts";
import { readingOf } from "./reading-of.ts";
import { appendScan } from "./scan-queue.ts";

const NAME = "image_scan_search";
const PIECE = 50;
/** Servers of the version before may push until all are replaced, so everything is looked through twice. */
const PASSES = 2;
const BETWEEN_MS = 3_600_000;

interface Progress {
  readonly pass: number;
  /** `repo_uid digest` of the last manifest that was looked at. */
  readonly after: readonly [repoUid: string, digest: string];
  /** When the next piece may be looked at. */
  readonly due: string;
}

const BEGINNING: Progress = { pass: 0, after: ["", ""], due: "" };

/** Looks at one piece. @returns when the next one is due; undefined where all is done */
export async function findUnread(store: Store, now: Date): Promise<Date | undefined> {
  const known = JSON.parse((await readState(store.reader, NAME)) ?? JSON.stringify(BEGINNING)) as Progress;
  if (known.pass >= PASSES) return undefined;
  if (known.due > now.toISOString()) return new Date(known.due);
  return store.transaction(async (db) => {
    const progress = await lockState(db, NAME, BEGINNING);
    if (progress.pass >= PASSES) return undefined;
    const found = await readUnread(db, progress.after);
    for (const { digest, content, media_type } of found.rows)
      if (content !== null && isRead(content, media_type))
        // What its row will say from now on keeps the search from asking at the others.
        for (const orgUid of await organizationsWith(db, digest)) await appendScan(db, digest, orgUid, now);
    const next: Progress = found.next === undefined ? endOfPass(progress, now) : { ...progress, after: found.next, due: now.toISOString() };
    await writeState(db, NAME, next);
    return next.pass >= PASSES ? undefined : new Date(next.due);
  });
}

function endOfPass({ pass }: Progress, now: Date): Progress {
  return { pass: pass + 1, after: BEGINNING.after, due: new Date(now.getTime() + BETWEEN_MS).toISOString() };
}

type Key = readonly [repoUid: string, digest: string];

/** The content only of those that nobody has put into the queue. */
async function readUnread(db: ReadDb, after: Key) {
  const rows = await db
    .selectFrom("manifest as m")
    .leftJoin("image_scan as s", "s.digest", "m.digest")
    .select(["m.repo_uid as repo_uid", "m.digest as digest", "m.media_type as media_type"])
    .select((eb) => eb.case().when("s.digest", "is", null).then(eb.ref("m.content")).end().as("content"))
    .where(({ eb, refTuple, tuple }) => eb(refTuple("m.repo_uid", "m.digest"), ">", tuple(...after)))
    .orderBy("m.repo_uid")
    .orderBy("m.digest")
    .limit(PIECE)
    .execute();
  const last = rows.at(-1);
  const next: Key | undefined = rows.length < PIECE || last === undefined ? undefined : [last.repo_uid, last.digest];
  return { rows, next };
}

function isRead(content: Uint8Array, mediaType: string): boolean {
  try {
    return readingOf(parseManifest(content, mediaType)) !== undefined;
  } catch (error) {
    // One that was taken by rules that were others then must not hold up the search.
    if (error instanceof OciError) return false;
    throw error;
  }
}
