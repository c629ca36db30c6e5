/** Indexes of advisories that have all that is asked of what they find: rows are long. */
import type { Migration } from "../../db/migrate.ts";

export const advisoryIndexes: Migration = {
  version: 19,
  name: "advisory-indexes",
  statements: () => [
    // Reports of resolved vulnerabilities find what resolved advisories of a package, and say the ids.
    "drop index advisory_by_resolutions",
    `create index advisory_by_resolutions on advisory (artifact_name, artifact_type, uid, resolutions, advisory_id)
      where delete_time is null and resolutions <> ''`,
    // Which origin a package has depends on its type, too.
    "drop index advisory_by_artifact_name",
    "create index advisory_by_artifact_name on advisory (artifact_name, uid, artifact_type) where delete_time is null",
  ],
};
