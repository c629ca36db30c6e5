/** Deletes imports whose upload was abandoned, imports that ended long ago, and staged files that no import and no fetch needs. */
import { sql } from "kysely";
import type { StagedFiles } from "../../../blobs/staged-files.ts";
import type { ReadDb, Store, WriteDb } from "../../../db/store.ts";
import { deleteInChunks, deleteRows } from "../../../jobs/delete-in-chunks.ts";
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
/** From the last chunk of a file. */
const ABANDONED_MS = 24 * HOUR_MS;
/** From the end of an import. */
const KEPT_MS = 30 * 24 * HOUR_MS;
const POLL_MS = 1000;
/** Imports per transaction: each may have a thousand problems. */
const CHUNK_SIZE = 20;
/** Parts per transaction. */
const PARTS = 2000;

/** Several servers may sweep at the same time. */
export function startSweep(options: SweepOptions): AsyncDisposable {
  const { clock, log } = options;
  let next = 0;
  return new Loop({
    name: "sweeping imports",
    log,
    spacingMs: POLL_MS,
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
  const now = options.clock.now().getTime();
  const abandoned = new Date(now - ABANDONED_MS);
  await deleteParts(options.store, abandoned);
  await deleteImports(options, "write_time", abandoned);
  await deleteImports(options, "end_time", new Date(now - KEPT_MS));
  await removeOrphans(options);
}

/** An abandoned import may have ten thousand parts. Those that ended have none. */
async function deleteParts(store: Store, before: Date): Promise<void> {
  const imports = sql`select uid from advisory_import where state = 'uploading' and write_time < ${before.toISOString()}`;
  const condition = sql<boolean>`import_uid in (${imports})`;
  const rows = { table: "advisory_import_part", key: ["import_uid", "part_offset"], condition };
  await deleteInChunks({ store, chunkSize: PARTS }, (db, limit) => deleteRows(db, rows, limit));
}

type Column = "write_time" | "end_time";

async function deleteImports({ store, files }: SweepOptions, column: Column, before: Date): Promise<void> {
  const deleted: string[] = [];
  await deleteInChunks({ store, chunkSize: CHUNK_SIZE }, async (db, limit) => {
    const names = await deleteChunk(db, column, before, limit);
    db.afterCommit(() => void deleted.push(...names));
    return names.length;
  });
  for (const name of deleted) await files.remove(name);
}

/** @returns the names of their files */
async function deleteChunk(db: WriteDb, column: Column, before: Date, limit: number): Promise<string[]> {
  const old = db
    .selectFrom("advisory_import")
    .select("uid")
    .where(column, "<", before.toISOString())
    .$if(column === "write_time", (query) => query.where("state", "=", "uploading"))
    .orderBy(column)
    .limit(limit);
  const uids = (await db.dialect.forClaim(old).execute()).map(({ uid }) => uid);
  const rows = await db
    .deleteFrom("advisory_import")
    .where("uid", "in", db.selectFrom(db.dialect.valuesOf(uids).as("v")).select("v.value"))
    .returning("file")
    .execute();
  return rows.map(({ file }) => file);
}

/** The row of an import or a fetch names its file before the file is created, so a file that no row names is not needed. */
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
