/** Extends the index of the blobs of repositories by the repository, so that those of one organization are found among many. */
import type { Migration } from "../../db/migrate.ts";

export const holdersOfBlobs: Migration = {
  version: 60,
  name: "holders-of-blobs",
  statements: () => ["drop index repo_blob_by_digest", "create index repo_blob_by_digest on repo_blob (digest, repo_uid)"],
};
