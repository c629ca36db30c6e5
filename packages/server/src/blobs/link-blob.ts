/**
 * How bytes become content that something needs.
 *
 * They are put in place first and needed by a row in one transaction after that, so what the database knows of always has its bytes. What removal
 * (`removal.ts`) must not do between the two is told by the database alone: it marks the blob while it removes the bytes, and counts removals. Who links
 * a blob that is marked, or finds that something was removed since the bytes were put in place, puts them in place once more.
 */
import { setTimeout as sleep } from "node:timers/promises";
import type { Store, WriteDb } from "../db/store.ts";
import { systemClock } from "../lib/clock.ts";
import { unavailable } from "../lib/errors.ts";
import { countRemovals, endRemoval, hasExpired } from "./removal.ts";

/** A removal under way takes milliseconds; one whose server died is given up after a minute. */
const RETRY_MS = 90_000;

/** The bytes may be gone, or go: they must be put in place once more. Rolls the transaction back. */
class BytesInDoubt extends Error {
  override readonly name = "BytesInDoubt";
}

/**
 * @param putInPlace makes the bytes durable and resolves with their number; may be called more than once
 * @param append writes the rows that need the blob, in the transaction that makes it known
 * @returns how many bytes it has
 */
export async function linkBlob(
  store: Store,
  digest: string,
  putInPlace: () => Promise<number>,
  append: (db: WriteDb) => Promise<void>,
): Promise<number> {
  const end = performance.now() + RETRY_MS;
  for (let pause = 5; ; pause = Math.min(pause * 2, 500)) {
    const removals = await countRemovals(store.reader);
    const size = await putInPlace();
    try {
      await store.transaction(async (db) => {
        await appendBlob(db, digest, size, removals);
        await append(db);
      });
      return size;
    } catch (error) {
      if (!(error instanceof BytesInDoubt)) throw error;
    }
    if (performance.now() > end) throw unavailable("the same content is being removed");
    await takeOverRemoval(store, digest);
    await sleep(pause);
  }
}

async function appendBlob(db: WriteDb, digest: string, size: number, removals: number): Promise<void> {
  await db
    .insertInto("blob")
    .values({ digest, size, create_time: systemClock.now().toISOString(), removal_time: null })
    .onConflict((conflict) => conflict.column("digest").doNothing())
    .execute();
  // From here on nobody can mark it. What was removed before is counted by now.
  const row = await db.dialect.forKeyShare(db.selectFrom("blob").select("removal_time").where("digest", "=", digest)).executeTakeFirst();
  if (row === undefined || row.removal_time !== null || (await countRemovals(db)) !== removals) throw new BytesInDoubt();
}

/** Ends a removal whose server did not; its bytes stay where they are, or are put there again. */
async function takeOverRemoval(store: Store, digest: string): Promise<void> {
  const { removal_time: time } = (await store.reader
    .selectFrom("blob")
    .select("removal_time")
    .where("digest", "=", digest)
    .executeTakeFirst()) ?? { removal_time: null };
  if (time !== null && hasExpired(time, systemClock.now())) await store.transaction((db) => endRemoval(db, [digest], time));
}
