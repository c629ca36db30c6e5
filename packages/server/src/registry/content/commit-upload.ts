/** Turns an upload into a blob that its repo links. */
import { linkBlob } from "../../blobs/link-blob.ts";
import { assertStorageAllowed } from "../../blobs/organization-storage.ts";
import type { BlobReference } from "../../blobs/references.ts";
import { type BlobStore, DigestMismatch, NoSuchUpload } from "../../blobs/store.ts";
import type { Store } from "../../db/store.ts";
import type { Clock } from "../../lib/clock.ts";
import { OciError } from "../oci-error.ts";
import { appendLink, requireRepo } from "./blob-links.ts";
import { type PushRepo, repoUidOf } from "./create-repo.ts";

export interface CommitParts {
  readonly store: Store;
  readonly blobs: BlobStore;
  readonly clock: Clock;
  /** The columns that count for the storage of an organization. Without them the storage has no limit. */
  readonly references?: readonly BlobReference[];
}

export interface UploadToCommit {
  readonly uid: string;
  readonly repo: PushRepo;
}

/** @throws OciError DIGEST_INVALID (the upload is deleted), BLOB_UPLOAD_UNKNOWN, NAME_UNKNOWN; UNAVAILABLE */
export async function commitUpload(parts: CommitParts, upload: UploadToCommit, digest: string): Promise<{ size: number }> {
  const { store, blobs } = parts;
  const { uid } = upload;
  try {
    const size = await link(parts, upload, digest);
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

function link({ store, blobs, clock, references = [] }: CommitParts, { uid, repo }: UploadToCommit, digest: string): Promise<number> {
  const linked = linkBlob(
    store,
    digest,
    async () => (await blobs.commit(uid, digest)).size,
    async (db) => {
      const repoUid = await repoUidOf(repo, db);
      await appendLink(db, repoUid, digest, clock.now());
      await assertStorageAllowed(db, repoUid, references);
      await db.deleteFrom("upload").where("uid", "=", uid).execute();
    },
  );
  return requireRepo(linked);
}
