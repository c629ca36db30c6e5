/**
 * How a blob leaves: marked in the database, its bytes removed, its row deleted. Only collection begins a removal; `link-blob.ts` asks whether one is under way.
 *
 * A mark is a time. Whoever set it removes bytes only well before that time, and anybody may end the removal after it: so a server that dies in the
 * middle holds nobody up for long, and one that was merely slow harms nobody. This needs the servers' clocks to agree within MARGIN_MS.
 */
import { sql } from "kysely";
import type { ReadDb, Store, WriteDb } from "../db/store.ts";
import { systemClock } from "../lib/clock.ts";
import { type BlobReference, isReferenced } from "./references.ts";
import type { BlobStore } from "./store.ts";

const MARK_MS = 60_000;
const MARGIN_MS = 30_000;
/** Name of the count in the server's state. */
const REMOVALS = "blob_removals";

/** How many removals have ended; who links a blob notices by it that one has ended meanwhile. */
export async function countRemovals(db: ReadDb): Promise<number> {
  const row = await db.selectFrom("server_state").select("value").where("name", "=", REMOVALS).executeTakeFirst();
  return Number(row?.value ?? 0);
}

export function hasExpired(removalTime: string, now: Date): boolean {
  return removalTime < now.toISOString();
}

/** Deletes the rows that still have this mark. */
export async function endRemoval(db: WriteDb, digests: readonly string[], mark: string): Promise<void> {
  // First, so that servers that do this at once wait here and not in a circle.
  await db
    .insertInto("server_state")
    .values({ name: REMOVALS, value: "1" })
    .onConflict((conflict) =>
      conflict.column("name").doUpdateSet((eb) => ({
        value: eb.cast<string>(eb(eb.cast<number>("server_state.value", "integer"), "+", 1), "text"),
      })),
    )
    .execute();
  await db
    .deleteFrom("blob")
    .where("digest", "in", (eb) => eb.selectFrom(db.dialect.valuesOf(digests).as("d")).select("d.value"))
    .where("removal_time", "=", mark)
    .execute();
}

export interface RemovedBlob {
  readonly digest: string;
  readonly size: number;
}

export interface BlobRemoval {
  /** Removes those of the blobs that nothing refers to, for good. */
  removeUnlinked(digests: readonly string[]): Promise<readonly RemovedBlob[]>;
  /** Removes bytes that no row knows: an upload that was not linked after all. A blob that is being linked stays. */
  removeOrphan(digest: string, size: number): Promise<boolean>;
}

export interface BlobRemovalOptions {
  readonly store: Store;
  readonly blobs: BlobStore;
  readonly references: readonly BlobReference[];
}

export function createBlobRemoval(options: BlobRemovalOptions): BlobRemoval {
  return {
    removeUnlinked: (digests) => removeUnlinked(options, digests),
    removeOrphan: (digest, size) => removeOrphan(options, digest, size),
  };
}

async function removeUnlinked(options: BlobRemovalOptions, digests: readonly string[]): Promise<readonly RemovedBlob[]> {
  const { store, blobs, references } = options;
  const begun = performance.now();
  const now = systemClock.now();
  const mark = new Date(now.getTime() + MARK_MS).toISOString();
  const marked = await store.transaction((db) => markUnlinked(db, digests, references, { mark, now }));
  if (marked.length === 0) return [];
  const isLate = performance.now() - begun > MARK_MS - MARGIN_MS;
  const results = await Promise.allSettled(isLate ? [] : marked.map(({ digest }) => blobs.remove(digest)));
  // All of them, and not before the last is settled: what is removed after this would be somebody else's. Bytes without a row are found later.
  const ended = marked.map(({ digest }) => digest);
  await store.transaction((db) => endRemoval(db, ended, mark));
  const failure = results.find((result) => result.status === "rejected");
  if (failure !== undefined) throw failure.reason;
  return isLate ? [] : marked;
}

async function removeOrphan(options: BlobRemovalOptions, digest: string, size: number): Promise<boolean> {
  const now = systemClock.now();
  // With a row and a mark it is like any other; the mark of a moment ago can be taken over at once.
  const mark = new Date(now.getTime() - 1).toISOString();
  const isNew = await options.store.transaction(async (db) => {
    const row = { digest, size, create_time: now.toISOString(), removal_time: mark };
    const result = await db
      .insertInto("blob")
      .values(row)
      .onConflict((conflict) => conflict.column("digest").doNothing())
      .executeTakeFirstOrThrow();
    return (result.numInsertedOrUpdatedRows ?? 0n) > 0n;
  });
  return isNew && (await removeUnlinked(options, [digest])).length > 0;
}

async function markUnlinked(
  db: WriteDb,
  digests: readonly string[],
  references: readonly BlobReference[],
  { mark, now }: { readonly mark: string; readonly now: Date },
): Promise<RemovedBlob[]> {
  const wanted = db
    .selectFrom("blob")
    .select("digest")
    .where("digest", "in", (eb) => eb.selectFrom(db.dialect.valuesOf(digests).as("d")).select("d.value"))
    .orderBy("digest");
  // Waits for those who link one of them. The next statement sees their links.
  const locked = await db.dialect.forDelete(wanted).execute();
  return db
    .updateTable("blob")
    .set({ removal_time: mark })
    .where("digest", "in", (eb) => eb.selectFrom(db.dialect.valuesOf(locked.map(({ digest }) => digest)).as("d")).select("d.value"))
    .where((eb) => eb.or([eb("removal_time", "is", null), eb("removal_time", "<", now.toISOString())]))
    .where(sql<boolean>`not ${isReferenced(references, sql.ref("blob.digest"))}`)
    .returning(["digest", "size"])
    .execute();
}
