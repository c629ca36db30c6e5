/** Manages uploads, and turns their bytes into blobs of a repo. It knows neither HTTP nor rights. */
import { randomUUID } from "node:crypto";
import type { Readable } from "node:stream";
import { linkBlob } from "../../blobs/link-blob.ts";
import { type BlobStore, DigestMismatch, NoSuchUpload } from "../../blobs/store.ts";
import type { Store, WriteDb } from "../../db/store.ts";
import { ConstraintError } from "../../db/transaction.ts";
import type { Clock } from "../../lib/clock.ts";
import { OciError } from "../oci-error.ts";

export interface Upload {
  readonly uid: string;
  readonly repoUid: string;
  readonly identityUid: string;
  /** Bytes received so far. */
  readonly size: number;
}

export interface Uploads {
  /** @throws OciError NAME_UNKNOWN if the repo was deleted */
  begin(repoUid: string, identityUid: string): Promise<Upload>;
  /** @throws OciError BLOB_UPLOAD_UNKNOWN, also for an upload of another repo */
  find(repoUid: string, uid: string): Promise<Upload>;
  /** @returns the upload's new size in bytes; see BlobStore.append @throws RangeMismatch, UNAVAILABLE */
  append(upload: Upload, bytes: Readable, offset: number): Promise<number>;
  /**
   * Turns the upload into a blob that the repo links, durably.
   * @throws OciError DIGEST_INVALID (the upload is deleted), BLOB_UPLOAD_UNKNOWN, NAME_UNKNOWN; UNAVAILABLE (the client
   * may retry)
   */
  commit(upload: Upload, digest: string): Promise<{ readonly size: number }>;
  /**
   * Stores a blob from one request: begin, append and commit with one transaction instead of two.
   * @param isWhole called at the end of the bytes; whether the request was complete
   */
  put(repoUid: string, bytes: Readable, digest: string, isWhole: () => boolean): Promise<{ readonly size: number }>;
  /** An unknown upload is not an error. */
  cancel(upload: Pick<Upload, "uid">): Promise<void>;
  /** Links a blob of another repo; undefined if that repo does not have it. @throws OciError NAME_UNKNOWN */
  mount(fromRepoUid: string, repoUid: string, digest: string): Promise<{ readonly size: number } | undefined>;
  /**
   * Finds a blob that the repo links.
   * @param keep restarts the blob's grace period if half of it has passed; set it when a client asks in order to skip
   * an upload
   */
  findBlob(repoUid: string, digest: string, keep?: boolean): Promise<{ readonly size: number } | undefined>;
  /** Uploads that received no bytes during the grace period. */
  findStale(): Promise<readonly string[]>;
}

export interface UploadOptions {
  readonly store: Store;
  readonly blobs: BlobStore;
  readonly clock: Clock;
  /** The grace period of the collector. */
  readonly graceMs: number;
}

export function createUploads({ store, blobs, clock, graceMs }: UploadOptions): Uploads {
  async function commit(uid: string, repoUid: string, digest: string): Promise<{ size: number }> {
    try {
      const size = await requireRepo(
        linkBlob(
          store,
          digest,
          async () => (await blobs.commit(uid, digest)).size,
          async (db) => {
            await appendLink(db, repoUid, digest, clock.now());
            await db.deleteFrom("upload").where("uid", "=", uid).execute();
          },
        ),
      );
      // If this fails, the upload is collected as stale later.
      await blobs.abort(uid).catch(() => {});
      return { size };
    } catch (error) {
      if (error instanceof DigestMismatch) {
        await store.transaction((db) => db.deleteFrom("upload").where("uid", "=", uid).execute());
        throw new OciError("DIGEST_INVALID", error.message, { digest });
      }
      throw error instanceof NoSuchUpload ? new OciError("BLOB_UPLOAD_UNKNOWN", "the upload does not exist") : error;
    }
  }

  return {
    async begin(repoUid, identityUid) {
      const uid = randomUUID();
      const time = clock.now().toISOString();
      const row = { uid, repo_uid: repoUid, identity_uid: identityUid, create_time: time, update_time: time };
      await requireRepo(store.transaction((db) => db.insertInto("upload").values(row).execute()));
      return { uid, repoUid, identityUid, size: 0 };
    },

    async find(repoUid, uid) {
      const row = await store.reader
        .selectFrom("upload")
        .select("identity_uid")
        .where("uid", "=", uid)
        .where("repo_uid", "=", repoUid)
        .executeTakeFirst();
      if (row === undefined) throw new OciError("BLOB_UPLOAD_UNKNOWN", "the upload does not exist");
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
        // No client knows the upload, so it cannot be resumed.
        await blobs.abort(uid).catch(() => {});
        throw error;
      }
    },

    async cancel({ uid }) {
      await store.transaction((db) => db.deleteFrom("upload").where("uid", "=", uid).execute());
      await blobs.abort(uid);
    },

    mount: (fromRepoUid, repoUid, digest) =>
      requireRepo(
        store.transaction(async (db) => {
          const source = db.selectFrom("repo_blob").select("digest").where("repo_uid", "=", fromRepoUid).where("digest", "=", digest);
          // The lock keeps the source's link, and with it the blob.
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
      // Add uploads that never received a byte.
      const rows = await store.reader.selectFrom("upload").select("uid").where("update_time", "<", before.toISOString()).execute();
      for (const { uid } of rows) if ((await blobs.sizeOfUpload(uid)) === undefined) stale.push(uid);
      return stale;
    },
  };
}

async function appendLink(db: WriteDb, repoUid: string, digest: string, now: Date): Promise<void> {
  await db
    .insertInto("repo_blob")
    .values({ repo_uid: repoUid, digest, touch_time: now.toISOString() })
    .onConflict((conflict) => conflict.columns(["repo_uid", "digest"]).doUpdateSet({ touch_time: now.toISOString() }))
    .execute();
}

/** Translates a violated foreign key: the row refers to a repo that was deleted. */
async function requireRepo<T>(work: Promise<T>): Promise<T> {
  try {
    return await work;
  } catch (error) {
    if (error instanceof ConstraintError && error.kind === "foreign-key")
      throw new OciError("NAME_UNKNOWN", "the repository was deleted", undefined, { cause: error });
    throw error;
  }
}
