/**
 * Uploads under way, and how their bytes become blobs of a repo. Knows no HTTP and no rights.
 *
 * The bytes are put in place first and linked in one transaction after that, so a blob in the database always has its bytes. What collection
 * (`gc.ts`) must not do between the two is told by the database alone: it marks the blob while it removes the bytes, and counts removals. Who links
 * a blob that is marked, or finds that something was removed since the bytes were put in place, puts them in place once more.
 */
import { randomUUID } from "node:crypto";
import type { Readable } from "node:stream";
import { setTimeout as sleep } from "node:timers/promises";
import { type BlobStore, DigestMismatch, NoSuchUpload } from "../blobs/store.ts";
import type { Store, WriteDb } from "../db/store.ts";
import { ConstraintError } from "../db/transaction.ts";
import { type Clock, systemClock } from "../lib/clock.ts";
import { unavailable } from "../lib/errors.ts";
import { countRemovals, endRemoval, hasExpired } from "./blob-removal.ts";
import { OciError } from "./oci-error.ts";

export interface Upload {
  readonly uid: string;
  readonly repoUid: string;
  readonly identityUid: string;
  /** Bytes received so far. */
  readonly size: number;
}

export interface Uploads {
  /** Begins an upload. @throws OciError NAME_UNKNOWN where the repo is gone */
  begin(repoUid: string, identityUid: string): Promise<Upload>;
  /** @throws OciError BLOB_UPLOAD_UNKNOWN, also for another repo's */
  find(repoUid: string, uid: string): Promise<Upload>;
  /** The upload's new size, see BlobStore.append. @throws RangeMismatch; UNAVAILABLE */
  append(upload: Upload, bytes: Readable, offset: number): Promise<number>;
  /**
   * Makes the upload a blob that the repo links, durably.
   * @throws OciError DIGEST_INVALID, and the upload is gone; BLOB_UPLOAD_UNKNOWN; NAME_UNKNOWN; UNAVAILABLE, and it can be tried again
   */
  commit(upload: Upload, digest: string): Promise<{ readonly size: number }>;
  /** A whole blob in one request: like begin, append and commit, with one transaction instead of two. @param isWhole asked at the end of the bytes */
  put(repoUid: string, bytes: Readable, digest: string, isWhole: () => boolean): Promise<{ readonly size: number }>;
  /** One that does not exist is no error. */
  cancel(upload: Pick<Upload, "uid">): Promise<void>;
  /** Links a blob of another repo; undefined where that one has no such blob. @throws OciError NAME_UNKNOWN */
  mount(fromRepoUid: string, repoUid: string, digest: string): Promise<{ readonly size: number } | undefined>;
  /**
   * A blob that the repo links.
   * @param keep begins its grace period anew where half of it has passed: for a push that will leave it out if it is there
   */
  findBlob(repoUid: string, digest: string, keep?: boolean): Promise<{ readonly size: number } | undefined>;
  /** Uploads that got no bytes for the grace period. */
  findStale(): Promise<readonly string[]>;
}

export interface UploadOptions {
  readonly store: Store;
  readonly blobs: BlobStore;
  readonly clock: Clock;
  /** Of collection. */
  readonly graceMs: number;
}

export function createUploads({ store, blobs, clock, graceMs }: UploadOptions): Uploads {
  const link = (request: LinkRequest, putInPlace: () => Promise<unknown>) => linkBlob(store, clock, request, putInPlace);

  async function commit(uid: string, repoUid: string, digest: string): Promise<{ size: number }> {
    try {
      let size = 0;
      await link({ repoUid, digest, upload: uid, size: () => size }, async () => {
        size = (await blobs.commit(uid, digest)).size;
      });
      // If this fails, the upload is found stale one day.
      await blobs.abort(uid).catch(() => {});
      return { size };
    } catch (error) {
      if (error instanceof DigestMismatch) {
        await store.transaction((db) => db.deleteFrom("upload").where("uid", "=", uid).execute());
        throw new OciError("DIGEST_INVALID", error.message, { digest });
      }
      throw error instanceof NoSuchUpload ? new OciError("BLOB_UPLOAD_UNKNOWN", "there is no such upload") : error;
    }
  }

  return {
    async begin(repoUid, identityUid) {
      const uid = randomUUID();
      const time = clock.now().toISOString();
      const row = { uid, repo_uid: repoUid, identity_uid: identityUid, create_time: time, update_time: time };
      await inRepo(store.transaction((db) => db.insertInto("upload").values(row).execute()));
      return { uid, repoUid, identityUid, size: 0 };
    },

    async find(repoUid, uid) {
      const row = await store.reader
        .selectFrom("upload")
        .select("identity_uid")
        .where("uid", "=", uid)
        .where("repo_uid", "=", repoUid)
        .executeTakeFirst();
      if (row === undefined) throw new OciError("BLOB_UPLOAD_UNKNOWN", "there is no such upload");
      return { uid, repoUid, identityUid: row.identity_uid, size: (await blobs.sizeOfUpload(uid)) ?? 0 };
    },

    append: ({ uid }, bytes, offset) => blobs.append(uid, bytes, offset),

    commit: ({ uid, repoUid }, digest) => commit(uid, repoUid, digest),

    async put(repoUid, bytes, digest, isWhole) {
      const uid = randomUUID();
      try {
        await blobs.append(uid, bytes, 0);
        if (!isWhole()) throw new OciError("SIZE_INVALID", "the request ended before the blob");
        return await commit(uid, repoUid, digest);
      } catch (error) {
        // Nobody can go on with it.
        await blobs.abort(uid).catch(() => {});
        throw error;
      }
    },

    async cancel({ uid }) {
      await store.transaction((db) => db.deleteFrom("upload").where("uid", "=", uid).execute());
      await blobs.abort(uid);
    },

    mount: (fromRepoUid, repoUid, digest) =>
      inRepo(
        store.transaction(async (db) => {
          const source = db.selectFrom("repo_blob").select("digest").where("repo_uid", "=", fromRepoUid).where("digest", "=", digest);
          // While the source links it, nobody removes it.
          if ((await db.dialect.forKeyShare(source).executeTakeFirst()) === undefined) return undefined;
          const { size } = await db.selectFrom("blob").select("size").where("digest", "=", digest).executeTakeFirstOrThrow();
          await appendLink(db, repoUid, digest, clock.now());
          return { size };
        }),
      ),

    async findBlob(repoUid, digest, keep = false) {
      const row = await store.reader
        .selectFrom("repo_blob as l")
        .innerJoin("blob as b", "b.digest", "l.digest")
        .select(["b.size", "l.touch_time"])
        .where("l.repo_uid", "=", repoUid)
        .where("l.digest", "=", digest)
        .executeTakeFirst();
      if (row === undefined) return undefined;
      const now = clock.now();
      if (!keep || row.touch_time > new Date(now.getTime() - graceMs / 2).toISOString()) return { size: row.size };
      const touched = await store.transaction((db) =>
        db
          .updateTable("repo_blob")
          .set({ touch_time: now.toISOString() })
          .where("repo_uid", "=", repoUid)
          .where("digest", "=", digest)
          .executeTakeFirstOrThrow(),
      );
      return touched.numUpdatedRows > 0n ? { size: row.size } : undefined;
    },

    async findStale() {
      const before = new Date(clock.now().getTime() - graceMs);
      const stale: string[] = [];
      for await (const uid of blobs.staleUploads(before)) stale.push(uid);
      // Those that were begun and never got a byte.
      const rows = await store.reader.selectFrom("upload").select("uid").where("update_time", "<", before.toISOString()).execute();
      for (const { uid } of rows) if ((await blobs.sizeOfUpload(uid)) === undefined) stale.push(uid);
      return stale;
    },
  };
}

interface LinkRequest {
  readonly repoUid: string;
  readonly digest: string;
  /** Its row goes when the blob is linked. */
  readonly upload: string;
  /** Known when the bytes are in place. */
  size(): number;
}

/** A removal under way takes milliseconds; one whose server died is given up after a minute. */
const RETRY_MS = 90_000;

/** The bytes may be gone, or go: they must be put in place once more. Rolls the transaction back. */
class BytesInDoubt extends Error {
  override readonly name = "BytesInDoubt";
}

async function linkBlob(store: Store, clock: Clock, request: LinkRequest, putInPlace: () => Promise<unknown>): Promise<void> {
  const end = performance.now() + RETRY_MS;
  for (let pause = 5; ; pause = Math.min(pause * 2, 500)) {
    const removals = await countRemovals(store.reader);
    await putInPlace();
    try {
      return await inRepo(store.transaction((db) => appendBlob(db, request, clock.now(), removals)));
    } catch (error) {
      if (!(error instanceof BytesInDoubt)) throw error;
    }
    if (performance.now() > end) throw unavailable("the same blob is being removed");
    await takeOverRemoval(store, request.digest);
    await sleep(pause);
  }
}

async function appendBlob(db: WriteDb, { repoUid, digest, upload, size }: LinkRequest, now: Date, removals: number): Promise<void> {
  await db
    .insertInto("blob")
    .values({ digest, size: size(), create_time: now.toISOString(), removal_time: null })
    .onConflict((conflict) => conflict.column("digest").doNothing())
    .execute();
  // From here on nobody can mark it. What was removed before is counted by now.
  const row = await db.dialect.forKeyShare(db.selectFrom("blob").select("removal_time").where("digest", "=", digest)).executeTakeFirst();
  if (row === undefined || row.removal_time !== null || (await countRemovals(db)) !== removals) throw new BytesInDoubt();
  await appendLink(db, repoUid, digest, now);
  await db.deleteFrom("upload").where("uid", "=", upload).execute();
}

async function appendLink(db: WriteDb, repoUid: string, digest: string, now: Date): Promise<void> {
  await db
    .insertInto("repo_blob")
    .values({ repo_uid: repoUid, digest, touch_time: now.toISOString() })
    .onConflict((conflict) => conflict.columns(["repo_uid", "digest"]).doUpdateSet({ touch_time: now.toISOString() }))
    .execute();
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

/** Whatever is written for a repo refers to it. */
async function inRepo<T>(work: Promise<T>): Promise<T> {
  try {
    return await work;
  } catch (error) {
    if (error instanceof ConstraintError && error.kind === "foreign-key")
      throw new OciError("NAME_UNKNOWN", "the repository was deleted", undefined, { cause: error });
    throw error;
  }
}
