/** Removes imports that nobody went on with, those that ended long ago, and files that no import or fetch needs. */
import type { StagedFiles } from "../../../blobs/staged-files.ts";
import type { ReadDb, Store } from "../../../db/store.ts";
import { Loop } from "../../../jobs/loop.ts";
import type { Clock } from "../../../lib/clock.ts";
import type { Log } from "../../../lib/log.ts";

export interface SweepOptions {
  readonly store: Store;
  readonly clock: Clock;
  readonly log: Log;
  readonly files: StagedFiles;
}

const HOUR_MS = 3_600_000;
/** After the last piece of a file. */
const ABANDONED_MS = 24 * HOUR_MS;
/** After its end. */
const KEPT_MS = 30 * 24 * HOUR_MS;
const POLL_MS = 1000;
/** Rows in one transaction: each may have a thousand problems. */
const PIECE = 20;

/** Any number of servers may do so at once. */
export function startSweep(options: SweepOptions): AsyncDisposable {
  const { clock, log } = options;
  let next = 0;
  return new Loop({
    ...{ name: "sweeping imports", log, spacingMs: POLL_MS },
    async step() {
      const now = clock.now().getTime();
      if (now < next) return Math.min(POLL_MS, next - now);
      await sweep(options);
      next = now + HOUR_MS;
      return POLL_MS;
    },
  });
}

async function sweep(options: SweepOptions): Promise<void> {
  const { clock } = options;
  const before = (ms: number) => new Date(clock.now().getTime() - ms).toISOString();
  while ((await removeSome(options, "write_time", before(ABANDONED_MS))) === PIECE);
  while ((await removeSome(options, "end_time", before(KEPT_MS))) === PIECE);
  await removeOrphans(options);
}

async function removeSome({ store, files }: SweepOptions, column: "write_time" | "end_time", time: string): Promise<number> {
  const removed = await store.transaction(async (db) => {
    const old = db
      .selectFrom("advisory_import")
      .select("uid")
      .where(column, "<", time)
      .$if(column === "write_time", (query) => query.where("state", "=", "uploading"))
      .orderBy(column)
      .limit(PIECE);
    const uids = (await db.dialect.forClaim(old).execute()).map(({ uid }) => uid);
    return db
      .deleteFrom("advisory_import")
      .where("uid", "in", db.selectFrom(db.dialect.valuesOf(uids).as("v")).select("v.value"))
      .returning("file")
      .execute();
  });
  for (const { file } of removed) await files.remove(file);
  return removed.length;
}

/** A row names its file before there is one, so what none names is needed no more. */
async function removeOrphans({ store, files }: SweepOptions): Promise<void> {
  for await (const names of files.list()) {
    const needed = await neededAmong(store.reader, names);
    for (const name of names) if (!needed.has(name)) await files.remove(name);
  }
}

async function neededAmong(db: ReadDb, names: readonly string[]): Promise<Set<string>> {
  const wanted = db.selectFrom(db.dialect.valuesOf(names).as("v")).select("v.value");
  const rows = await db
    .selectFrom("advisory_import")
    .select("file as name")
    .where("file", "in", wanted)
    .where("end_time", "is", null)
    .union(
      db
        .selectFrom("advisory_mirror_run")
        .select((eb) => eb.fn.coalesce("file", eb.val("")).as("name"))
        .where("file", "in", wanted),
    )
    .execute();
  return new Set(rows.map(({ name }) => name));
}
