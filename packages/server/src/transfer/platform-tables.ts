/** Says how the rows of the platform's tables belong to organizations. */
import { isIn, type OrganizationTables, owned, related, stays } from "./organization-tables.ts";

export const platformTables: OrganizationTables = {
  schema_migration: stays("the schema is the server's"),
  server_state: stays("values of the installation"),
  access_change: stays("notices between servers"),
  resource_count: stays("counted again"),
  blob: stays("content is copied by its digest, and recorded then"),
  blob_upload: stays("unfinished uploads"),
  blob_upload_part: stays("unfinished uploads"),
  mail: stays("mails that are under way"),
  organization_limit: owned("org_uid"),
  event_context: related((organization) => isIn("id", organization, { table: "outbox", column: "context_id", owner: "group_uid" }), {
    sharedBy: ["key"],
  }),
  outbox: owned("group_uid", { rowNumbers: { context_id: "event_context" }, position: "position" }),
};
