/** Extends the index of the files of libraries by the package, so that those of one organization are found among many. */
import type { Migration } from "../../db/migrate.ts";

export const holdersOfFiles: Migration = {
  version: 61,
  name: "holders-of-files",
  statements: () => ["drop index library_file_by_digest", "create index library_file_by_digest on library_file (digest, artifact_uid)"],
};
