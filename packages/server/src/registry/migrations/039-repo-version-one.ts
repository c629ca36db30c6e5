/** Adds the column for fields of a version 1 repo that version 2 does not have. */
import type { Migration } from "../../db/migrate.ts";

export const repoVersionOne: Migration = {
  version: 39,
  name: "repo-version-one",
  statements: ({ types: { text } }) => [`alter table repo add column version_one ${text}`],
};
