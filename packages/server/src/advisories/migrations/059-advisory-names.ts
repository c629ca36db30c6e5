/** Extends the index of artifact names by what filters by kinds and people test, so that they read no other index. */
import type { Migration } from "../../db/migrate.ts";

export const advisoryNames: Migration = {
  version: 59,
  name: "advisory-names",
  statements: () => [
    "drop index advisory_by_artifact_name",
    `create index advisory_by_artifact_name on advisory (artifact_name, uid, artifact_type, artifact_architecture, component_type, latest_type,
      event_types, review_states, authors, reviewers) where delete_time is null`,
  ],
};
