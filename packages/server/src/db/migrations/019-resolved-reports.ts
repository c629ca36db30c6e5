/** Reports of resolved vulnerabilities find ids of advisories where they find what resolved them. */
import type { Migration } from "../migrate.ts";

export const resolvedReports: Migration = {
  name: "resolved-reports",
  statements: () => [
    "drop index advisory_by_resolutions",
    // All that a report asks of a package's advisories: there are many, and their rows are long.
    `create index advisory_by_resolutions on advisory (artifact_name, artifact_type, uid, resolutions, advisory_id)
      where delete_time is null and resolutions <> ''`,
  ],
};
