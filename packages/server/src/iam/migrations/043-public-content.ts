/** Creates the table of groups and repositories that anybody may read. */
import type { Migration } from "../../db/migrate.ts";

export const publicContent: Migration = {
  version: 43,
  name: "public-content",
  statements: ({ types: { text } }) => [
    `create table public_content (
      uid ${text} not null primary key, parent ${text} references "group" (uid), name ${text} not null,
      create_time ${text} not null, update_time ${text} not null, capabilities ${text} not null, body ${text} not null)`,
    "create index public_content_by_parent_uid on public_content (parent, uid)",
    "create index public_content_by_create_time_uid on public_content (create_time, uid)",
    "create index public_content_by_update_time_uid on public_content (update_time, uid)",
  ],
};
