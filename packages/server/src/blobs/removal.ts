/**
 * Removes blobs: marks the row, deletes the bytes, deletes the row. Only garbage collection starts removals;
 * `link-blob.ts` checks for running ones.
 *
 * A mark is a time in the future. The server that set it deletes bytes only well before that time: it aborts deletions
 * that take longer. After that time any server may end the removal. So a crashed server blocks others only briefly, and
 * a slow server does no harm. The clocks of the servers must agree within MARGIN_MS.
 */
import { sql } from "kysely";
import type { ReadDb, Store, WriteDb } from "../db/store.ts";
import { systemClock } from "../lib/clock.ts";
import { type BlobReference, isReferenced } from "./references.ts";
import type { BlobStore } from "./store.ts";

const MARK_MS = 60_000;
const MARGIN_MS = 30_000;
/** Digits of a hash that choose its counter: 4096 counters, so that few other blobs share the one of a blob. */
const COUNTER_DIGITS = 3;
/** Their names in server_state begin with this. */
const COUNTERS = "blob_removals/";

/**
 * The number of ended removals of the blob, and of those that share its counter. If it changes while the blob is
 * linked, the bytes may be gone.
 */
export async function countRemovals(db: ReadDb, digest: string): Promise<number> {
  const row = await db.selectFrom("server_state").select("value").where("name", "=", counterOf(digest)).executeTakeFirst();
  return Number(row?.value ?? 0);
}

/** The number of ended removals of all blobs. */
export async function countAllRemovals(db: ReadDb): Promise<number> {
  const query = db.selectFrom("server_state").select((eb) => eb.fn.sum<number>(eb.cast<number>("value", "integer")).as("removals"));
  const row = await query.where("name", "like", `${COUNTERS}%`).executeTakeFirst();
  return Number(row?.removals ?? 0);
}

function counterOf(digest: string): string {
  const start = digest.indexOf(":") + 1;
  return `${COUNTERS}${digest.slice(start, start + COUNTER_DIGITS)}`;
}

export function hasExpired(removalTime: string, now: Date): boolean {
  return removalTime < now.toISOString();
}

/** Deletes the rows that still have this mark. */
export async function endRemoval(db: WriteDb, digests: readonly string[], mark: string): Promise<void> {
  if (digests.length === 0) return;
  // The counters come first, and in order: concurrent servers queue here instead of deadlocking.
  const counters = [...new Set(digests.map(counterOf))].sort();
  await db
    .insertInto("server_state")
    .values(counters.map((name) => ({ name, value: "1" })))
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
  /** Removes the blobs that no row refers to, and returns them. */
  removeUnlinked(digests: readonly string[]): Promise<readonly RemovedBlob[]>;
  /** Removes bytes without a row, e.g. of an upload that was never linked. A blob that is being linked stays. */
  removeOrphan(digest: string, size: number): Promise<boolean>;
}

export interface BlobRemovalOptions {
  readonly store: Store;
  readonly blobs: BlobStore;
  readonly references: readonly BlobReference[];
  /** Called for each blob whose bytes were not deleted, after the removals of the others have ended. Without it, the removal fails. */
  readonly onFailure?: (digest: string, reason: unknown) => void;
}

export function createBlobRemoval(options: BlobRemovalOptions): BlobRemoval {
  return {
    removeUnlinked: (digests) => removeUnlinked(options, digests),
    removeOrphan: (digest, size) => removeOrphan(options, digest, size),
  };
}

async function removeUnlinked(options: BlobRemovalOptions, digests: readonly string[]): Promise<readonly RemovedBlob[]> {
  const { store, blobs, references, onFailure = rethrow } = options;
  const begun = performance.now();
  const signal = AbortSignal.timeout(MARK_MS - MARGIN_MS);
  const now = systemClock.now();
  const mark = new Date(now.getTime() + MARK_MS).toISOString();
  const marked = await store.transaction((db) => markUnlinked(db, digests, references, { mark, now }));
  if (marked.length === 0) return [];
  const isLate = performance.now() - begun > MARK_MS - MARGIN_MS;
  const results = await Promise.allSettled(isLate ? [] : marked.map(({ digest }) => blobs.remove(digest, signal)));
  // Ends the removal only when all deletions are settled: a later one could delete bytes that were stored again. A request
  // that failed or was aborted may still be carried out, so its mark stays until it expires. A later collection tries again.
  const ended = marked.filter((_, index) => results[index]?.status !== "rejected");
  const endedDigests = ended.map(({ digest }) => digest);
  await store.transaction((db) => endRemoval(db, endedDigests, mark));
  for (const [index, result] of results.entries()) if (result.status === "rejected") onFailure(marked[index]!.digest, result.reason);
  return isLate ? [] : ended;
}

function rethrow(_digest: string, reason: unknown): never {
  throw reason;
}

async function removeOrphan(options: BlobRemovalOptions, digest: string, size: number): Promise<boolean> {
  const now = systemClock.now();
  // An already expired mark turns the orphan into a blob that removeUnlinked can mark again.
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
  // Waits for transactions that link one of the blobs. The next statement sees their rows.
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
