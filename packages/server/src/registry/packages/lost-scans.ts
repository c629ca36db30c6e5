/** Deletes the packages of manifests that no repo has any more, unless reports about the past need them. A part of collection. */
import { type RawBuilder, sql } from "kysely";
import type { ReadDb, Store, WriteDb } from "../../db/store.ts";
import { deleteAllButLastChunk, deleteRows } from "../../jobs/delete-in-chunks.ts";
import { RELEASED } from "../../jobs/lease.ts";
import { isRemembered } from "./remembered.ts";
import { removePackages } from "./stored-packages.ts";

/** Scans per query. */
const BATCH_SIZE = 100;
/** Links of images to packages per transaction, and those that a foreign key deletes with the scan. */
const LINKS_PER_TRANSACTION = 2000;

export async function removeLostScans(store: Store, now: Date, signal: AbortSignal | undefined): Promise<void> {
  for (let after: string | undefined = ""; after !== undefined && signal?.aborted !== true; ) {
    const rows = await readScans(store.reader, after, now);
    for (const { digest, isLost } of rows) if (isLost) await removeScan(store, digest);
    after = rows.length < BATCH_SIZE ? undefined : rows.at(-1)?.digest;
  }
  await removeLostIndexes(store, signal);
}

async function readScans(db: ReadDb, after: string, now: Date): Promise<{ digest: string; isLost: boolean }[]> {
  const rows = await db
    .selectFrom("image_scan as s")
    .select(["s.digest as digest", "s.package_count as packages"])
    .select((eb) => eb.selectFrom("manifest as m").select("m.digest").whereRef("m.digest", "=", "s.digest").limit(1).as("found"))
    .select(sql<number>`case when ${isRemembered(sql.ref("s.digest"), now)} then 1 else 0 end`.as("remembered"))
    .where("s.digest", ">", after)
    .orderBy("s.digest")
    .limit(BATCH_SIZE)
    .execute();
  // Reports need packages; a scan that found none has nothing to remember.
  return rows.map(({ digest, packages, found, remembered }) => ({
    digest,
    isLost: found === null && (packages === 0 || Number(remembered) === 0),
  }));
}

/** Deletes the lists of images of indexes that no repository has, and to which no tag has pointed. */
async function removeLostIndexes(store: Store, signal: AbortSignal | undefined): Promise<void> {
  for (let after: string | undefined = ""; after !== undefined && signal?.aborted !== true; ) {
    const digests: string[] = await readIndexes(store.reader, after);
    const lost = await lostAmong(store.reader, digests);
    if (lost.length > 0)
      await store.transaction(async (db) => {
        // A push of the index locks the same rows. Either its manifest is visible after that, or it inserts the list again.
        await db.dialect.forDelete(db.selectFrom("index_platform").select("digest").where(isAmong(db, lost))).execute();
        await db
          .deleteFrom("index_platform")
          .where(isAmong(db, await lostAmong(db, lost)))
          .execute();
      });
    after = digests.length < BATCH_SIZE ? undefined : digests.at(-1);
  }
}

function isAmong({ dialect }: ReadDb, digests: readonly string[]): RawBuilder<boolean> {
  return sql<boolean>`digest in (select v.value from ${dialect.valuesOf(digests)} as v)`;
}

async function readIndexes(db: ReadDb, after: string): Promise<string[]> {
  const query = db.selectFrom("index_platform").select("digest").distinct().where("digest", ">", after);
  return (await query.orderBy("digest").limit(BATCH_SIZE).execute()).map(({ digest }) => digest);
}

async function lostAmong(db: ReadDb, digests: readonly string[]): Promise<string[]> {
  const query = db
    .selectFrom(db.dialect.valuesOf(digests).as("v"))
    .select("v.value")
    .where(({ not, exists, selectFrom }) =>
      not(exists(selectFrom("manifest as m").select("m.digest").whereRef("m.digest", "=", "v.value"))),
    )
    .where(({ not, exists, selectFrom }) =>
      not(exists(selectFrom("tag_history as h").select("h.seq").whereRef("h.digest", "=", "v.value"))),
    );
  return (await query.execute()).map(({ value }) => value);
}

/** A repo has the manifest again. */
class PushedAgain extends Error {
  override readonly name = "PushedAgain";
}

async function removeScan(store: Store, digest: string): Promise<void> {
  try {
    await removePackages(store, digest, (db) => markLost(db, digest));
    await removeLinks(store, digest);
    await store.transaction(async (db) => {
      await markLost(db, digest);
      await db.deleteFrom("image_scan").where("digest", "=", digest).execute();
    });
  } catch (error) {
    if (!(error instanceof PushedAgain)) throw error;
  }
}

/** Many organizations may have had the image, and each has links of its own. */
function removeLinks(store: Store, digest: string): Promise<void> {
  const condition = sql<boolean>`image_id in (select i.id from matched_image as i where i.digest = ${digest})`;
  const links = { table: "matched_image_package", key: ["image_id", "package_id"], condition };
  return deleteAllButLastChunk({ store, chunkSize: LINKS_PER_TRANSACTION }, links, async (db, limit) => {
    await markLost(db, digest);
    return deleteRows(db, links, limit);
  });
}

/**
 * Locks the row, which a push of the manifest locks, too. The manifest may be pushed again between two transactions of
 * ours. So the first one marks the packages as missing: then a push makes the scan wait again, and a server that was
 * scanning loses its lease.
 * @throws PushedAgain
 */
async function markLost(db: WriteDb, digest: string): Promise<void> {
  await db.dialect.forDelete(db.selectFrom("image_scan").select("digest").where("digest", "=", digest)).execute();
  const found = await db.selectFrom("manifest").select("digest").where("digest", "=", digest).limit(1).executeTakeFirst();
  if (found !== undefined) throw new PushedAgain();
  const lost = { state: "failed", attempts: 0, package_count: 0, ...RELEASED } as const;
  await db.updateTable("image_scan").set(lost).where("digest", "=", digest).execute();
  await db.deleteFrom("image_wait").where("digest", "=", digest).execute();
}
