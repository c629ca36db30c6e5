/** Links repos to blobs. A repo serves only the blobs that it links. */
import { assertStorageAllowed } from "../../blobs/organization-storage.ts";
import type { BlobReference } from "../../blobs/references.ts";
import type { BlobStore } from "../../blobs/store.ts";
import type { Store, WriteDb } from "../../db/store.ts";
import { ConstraintError } from "../../db/transaction.ts";
import type { Clock } from "../../lib/clock.ts";
import { OciError } from "../oci-error.ts";
import { type PushRepo, repoUidOf } from "./create-repo.ts";
import { needsNewGrace } from "./grace-period.ts";

export interface BlobLinks {
  /** Links a blob of another repo; undefined if that repo does not have it, or its bytes are lost. @throws OciError NAME_UNKNOWN */
  mount(fromRepoUid: string, repo: PushRepo, digest: string): Promise<{ readonly size: number } | undefined>;
  /**
   * Finds a blob that the repo links.
   * @param keep restarts the blob's grace period if half of it has passed; set it when a client asks in order to skip
   * an upload
   */
  findBlob(repoUid: string, digest: string, keep?: boolean): Promise<{ readonly size: number } | undefined>;
}

export interface BlobLinkOptions {
  readonly store: Store;
  readonly blobs: Pick<BlobStore, "hasLost">;
  readonly clock: Clock;
  /** The grace period of the collector. */
  readonly graceMs: number;
  /** The columns that count for the storage of an organization. Without them the storage has no limit. */
  readonly references?: readonly BlobReference[];
}

export function createBlobLinks({ store, blobs, clock, graceMs, references = [] }: BlobLinkOptions): BlobLinks {
  return {
    async mount(fromRepoUid, repo, digest) {
      const mounted = store.transaction(async (db) => {
        const source = db.selectFrom("repo_blob").select("digest").where("repo_uid", "=", fromRepoUid).where("digest", "=", digest);
        // The lock keeps the source's link, and with it the blob.
        if ((await db.dialect.forKeyShare(source).executeTakeFirst()) === undefined) return undefined;
        const { size } = await db.selectFrom("blob").select("size").where("digest", "=", digest).executeTakeFirstOrThrow();
        const repoUid = await repoUidOf(repo, db);
        await appendLink(db, repoUid, digest, clock.now());
        await assertStorageAllowed(db, repoUid, references);
        return { size };
      });
      const blob = await requireRepo(mounted);
      // The link alone does no harm: the client now uploads the bytes.
      return blob === undefined || (await blobs.hasLost(digest, blob.size)) ? undefined : blob;
    },

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
      if (!keep || !needsNewGrace(row.touch_time, now, graceMs)) return { size: row.size };
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
  };
}

/** Links the blob, or restarts the grace period of the link. */
export async function appendLink(db: WriteDb, repoUid: string, digest: string, now: Date): Promise<void> {
  await db
    .insertInto("repo_blob")
    .values({ repo_uid: repoUid, digest, touch_time: now.toISOString() })
    .onConflict((conflict) => conflict.columns(["repo_uid", "digest"]).doUpdateSet({ touch_time: now.toISOString() }))
    .execute();
}

/** Translates a violated foreign key: the row refers to a repo that was deleted. @throws OciError NAME_UNKNOWN */
export async function requireRepo<T>(work: Promise<T>): Promise<T> {
  try {
    return await work;
  } catch (error) {
    if (error instanceof ConstraintError && error.kind === "foreign-key")
      throw new OciError("NAME_UNKNOWN", "the repository was deleted", undefined, { cause: error });
    throw error;
  }
}
