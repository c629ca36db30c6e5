/**
 * Records a blob together with the rows that refer to it.
 *
 * The bytes are stored first, and one transaction then adds the rows, so every recorded blob has its bytes. A removal
 * (`removal.ts`) could delete the bytes in between. It marks the blob while it deletes them, and counts its removals in
 * the database. If the blob is marked, or was removed since the bytes were stored, this module stores them again.
 */
import { setTimeout as sleep } from "node:timers/promises";
import type { Store, WriteDb } from "../db/store.ts";
import { systemClock } from "../lib/clock.ts";
import { unavailable } from "../lib/errors.ts";
import { countRemovals, endRemoval, hasExpired } from "./removal.ts";

/** A removal takes milliseconds. The mark of a crashed server expires after a minute. */
const RETRY_MS = 90_000;

/** A removal may delete the bytes, so they must be stored again. Rolls the transaction back. */
class BytesMayBeGone extends Error {
  override readonly name = "BytesMayBeGone";
}

/**
 * @param storeBytes makes the bytes durable and resolves with their number; it may be called more than once
 * @param append writes the rows that refer to the blob, in the transaction that records it
 * @returns the size of the blob in bytes
 * @throws UNAVAILABLE if removals of the same content do not end within 90 seconds
 */
export async function linkBlob(
  store: Store,
  digest: string,
  storeBytes: () => Promise<number>,
  append: (db: WriteDb) => Promise<void>,
): Promise<number> {
  const end = performance.now() + RETRY_MS;
  for (let pause = 5; ; pause = Math.min(pause * 2, 500)) {
    const removals = await countRemovals(store.reader, digest);
    const size = await storeBytes();
    try {
      await store.transaction(async (db) => {
        await appendBlob(db, digest, size, removals);
        await append(db);
      });
      return size;
    } catch (error) {
      if (!(error instanceof BytesMayBeGone)) throw error;
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
  // The lock prevents new marks, and earlier removals are already counted.
  const row = await db.dialect.forKeyShare(db.selectFrom("blob").select("removal_time").where("digest", "=", digest)).executeTakeFirst();
  if (row === undefined || row.removal_time !== null || (await countRemovals(db, digest)) !== removals) throw new BytesMayBeGone();
}

/** Ends a removal whose mark has expired, because its server crashed. The bytes stay, or are stored again. */
async function takeOverRemoval(store: Store, digest: string): Promise<void> {
  const { removal_time: time } = (await store.reader
    .selectFrom("blob")
    .select("removal_time")
    .where("digest", "=", digest)
    .executeTakeFirst()) ?? { removal_time: null };
  if (time !== null && hasExpired(time, systemClock.now())) await store.transaction((db) => endRemoval(db, [digest], time));
}
