/** Removes what was read of manifests that no repo has any more, and that no report of the past asks for. Part of collection. */
import { sql } from "kysely";
import type { ReadDb, Store, WriteDb } from "../../db/store.ts";
import { isRemembered } from "./remembered.ts";
import { LostClaim } from "./scan-queue.ts";
import { removePackages } from "./stored-packages.ts";

const PIECE = 100;

export async function removeLostScans(store: Store, now: Date, signal: AbortSignal | undefined): Promise<void> {
  for (let after: string | undefined = ""; after !== undefined && signal?.aborted !== true; ) {
    const rows = await readScans(store.reader, after, now);
    for (const { digest, isLost } of rows) if (isLost) await remove(store, digest);
    after = rows.length < PIECE ? undefined : rows.at(-1)?.digest;
  }
}

async function readScans(db: ReadDb, after: string, now: Date): Promise<{ digest: string; isLost: boolean }[]> {
  const rows = await db
    .selectFrom("image_scan as s")
    .select(["s.digest as digest"])
    .select((eb) => eb.selectFrom("manifest as m").select("m.digest").whereRef("m.digest", "=", "s.digest").limit(1).as("found"))
    .select(sql<number>`case when ${isRemembered(sql.ref("s.digest"), now)} then 1 else 0 end`.as("remembered"))
    .where("s.digest", ">", after)
    .orderBy("s.digest")
    .limit(PIECE)
    .execute();
  return rows.map(({ digest, found, remembered }) => ({ digest, isLost: found === null && Number(remembered) === 0 }));
}

async function remove(store: Store, digest: string): Promise<void> {
  try {
    await removePackages(store, digest, (db) => lose(db, digest));
    await store.transaction(async (db) => {
      await lose(db, digest);
      await db.deleteFrom("image_scan").where("digest", "=", digest).execute();
    });
  } catch (error) {
    if (!(error instanceof LostClaim)) throw error;
  }
}

/**
 * Who pushes the manifest locks the same row, so that it is not taken away under it. Between two of our transactions it may come back: so the
 * row says from the first on that what was read is not there, a push makes it wait again, and a server that is at it has lost it.
 * @throws LostClaim where a repo has the manifest
 */
async function lose(db: WriteDb, digest: string): Promise<void> {
  await db.dialect.forDelete(db.selectFrom("image_scan").select("digest").where("digest", "=", digest)).execute();
  const found = await db.selectFrom("manifest").select("digest").where("digest", "=", digest).limit(1).executeTakeFirst();
  if (found !== undefined) throw new LostClaim(digest);
  const nothing = { state: "failed", attempts: 0, package_count: 0, lease_time: null } as const;
  await db.updateTable("image_scan").set(nothing).where("digest", "=", digest).execute();
  await db.deleteFrom("image_wait").where("digest", "=", digest).execute();
}
