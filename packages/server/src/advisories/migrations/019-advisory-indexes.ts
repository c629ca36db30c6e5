/** Extends indexes of advisories, so that reports and documents need not read the long rows. */
import type { Migration } from "../../db/migrate.ts";

export const advisoryIndexes: Migration = {
  version: 19,
  name: "advisory-indexes",
  statements: () => [
    // Reports of resolved vulnerabilities also read the advisory id.
    "drop index advisory_by_resolutions",
    `create index advisory_by_resolutions on advisory (artifact_name, artifact_type, uid, resolutions, advisory_id)
      where delete_time is null and resolutions <> ''`,
    // The origin of a package depends on its type, too.
    "drop index advisory_by_artifact_name",
    "create index advisory_by_artifact_name on advisory (artifact_name, uid, artifact_type) where delete_time is null",
  ],
};
