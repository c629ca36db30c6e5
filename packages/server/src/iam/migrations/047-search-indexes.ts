/** Indexes of names within an organization, for the search. The name itself is in them, so that no search reads the rows. */
import type { Migration } from "../../db/migrate.ts";

/** Spelled as the search spells its conditions. */
const index = (table: string, column: string, where = "") =>
  `create index ${table}_by_organization_${column} on "${table}" (substr(uid, 1, 40), lower(${column}), uid, ${column})${where}`;

export const searchIndexes: Migration = {
  version: 47,
  name: "search-indexes",
  statements: () => [
    ...["group", "identity", "repo", "tag", "library_artifact"].map((table) => index(table, "name")),
    ...["first_alias", "artifact_name"].map((column) => index("advisory", column, " where delete_time is null")),
  ],
};
