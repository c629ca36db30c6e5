/** Manages uploads: begins, finds, continues and cancels them. It knows neither HTTP nor rights. */
import { randomUUID } from "node:crypto";
import type { Readable } from "node:stream";
import { OciError } from "../oci-error.ts";
import { type BlobLinks, createBlobLinks, requireRepo } from "./blob-links.ts";
import { type CommitParts, commitUpload, type UploadToCommit } from "./commit-upload.ts";
import type { PushRepo } from "./create-repo.ts";

/** The repo that an upload is for, and its caller. */
export interface UploadTarget {
  readonly repo: PushRepo;
  /** The name of the repo, as the client wrote it. */
  readonly repository: string;
  readonly identityUid: string;
}

export interface Upload extends UploadToCommit {
  /** Bytes received so far. */
  readonly size: number;
}

export interface Uploads extends BlobLinks {
  /** Does not create a missing repo: `commit` does. @throws OciError NAME_UNKNOWN if the repo was deleted */
  begin(target: UploadTarget): Promise<Upload>;
  /**
   * Finds an upload of the repo. While the repo is missing, it has to be one of the same caller under the same name.
   * @throws OciError BLOB_UPLOAD_UNKNOWN
   */
  find(target: UploadTarget, uid: string): Promise<Upload>;
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
  put(repo: PushRepo, bytes: Readable, digest: string, isWhole: () => boolean): Promise<{ readonly size: number }>;
  /** An unknown upload is not an error. */
  cancel(upload: Pick<Upload, "uid">): Promise<void>;
  /** Uploads that received no bytes during the grace period. */
  findStale(): Promise<readonly string[]>;
}

export interface UploadOptions extends CommitParts {
  /** The grace period of the collector. */
  readonly graceMs: number;
}

export function createUploads(options: UploadOptions): Uploads {
  const { store, blobs, clock, graceMs } = options;
  return {
    ...createBlobLinks(options),

    async begin({ repo, repository, identityUid }) {
      const uid = randomUUID();
      const time = clock.now().toISOString();
      const place = typeof repo === "string" ? { repo_uid: repo, repository: "" } : { repo_uid: null, repository };
      const row = { uid, ...place, identity_uid: identityUid, create_time: time, update_time: time };
      await requireRepo(store.transaction((db) => db.insertInto("upload").values(row).execute()));
      return { uid, repo, size: 0 };
    },

    async find({ repo, repository, identityUid }, uid) {
      const row = await store.reader
        .selectFrom("upload")
        .select(["repo_uid", "repository", "identity_uid"])
        .where("uid", "=", uid)
        .executeTakeFirst();
      const isOwn = row?.repo_uid === null ? row.repository === repository && row.identity_uid === identityUid : row?.repo_uid === repo;
      if (!isOwn) throw new OciError("BLOB_UPLOAD_UNKNOWN", "the upload does not exist");
      return { uid, repo, size: (await blobs.sizeOfUpload(uid)) ?? 0 };
    },

    append: ({ uid }, bytes, offset) => blobs.append(uid, bytes, offset),

    commit: (upload, digest) => commitUpload(options, upload, digest),

    async put(repo, bytes, digest, isWhole) {
      const uid = randomUUID();
      try {
        await blobs.append(uid, bytes, 0, "whole");
        if (!isWhole()) throw new OciError("SIZE_INVALID", "the request ended before the blob");
        return await commitUpload(options, { uid, repo }, digest);
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

    findStale: () => findStaleUploads(options, new Date(clock.now().getTime() - graceMs)),
  };
}

async function findStaleUploads({ store, blobs }: UploadOptions, before: Date): Promise<readonly string[]> {
  const stale: string[] = [];
  for await (const uid of blobs.staleUploads(before)) stale.push(uid);
  // Add uploads that never received a byte.
  const rows = await store.reader.selectFrom("upload").select("uid").where("update_time", "<", before.toISOString()).execute();
  for (const { uid } of rows) if ((await blobs.sizeOfUpload(uid)) === undefined) stale.push(uid);
  return stale;
}
