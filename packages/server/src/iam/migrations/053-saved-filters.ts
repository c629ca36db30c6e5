/** Creates the table of the filters that callers save under a name. */
import type { Migration } from "../../db/migrate.ts";

export const savedFilters: Migration = {
  version: 53,
  name: "saved-filters",
  statements: ({ types: { text } }) => [
    `create table saved_filter (
      identity_uid ${text} not null, org_uid ${text} not null, list ${text} not null, name ${text} not null, query ${text} not null,
      primary key (identity_uid, org_uid, list, name))`,
    "create index saved_filter_by_org_uid on saved_filter (org_uid)",
  ],
};
