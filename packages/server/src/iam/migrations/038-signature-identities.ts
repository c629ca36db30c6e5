/** Creates the table of the identities that groups trust to sign with short-lived certificates. */
import type { Migration } from "../../db/migrate.ts";

export const signatureIdentities: Migration = {
  version: 38,
  name: "signature-identities",
  statements: ({ types: { text } }) => [
    `create table signature_identity (
      uid ${text} not null primary key, parent ${text} not null references "group" (uid), name ${text} not null,
      create_time ${text} not null, update_time ${text} not null, body ${text} not null)`,
    "create unique index signature_identity_by_parent_name on signature_identity (parent, name)",
    "create index signature_identity_by_parent_uid on signature_identity (parent, uid)",
    "create index signature_identity_by_name_uid on signature_identity (name, uid)",
    "create index signature_identity_by_create_time_uid on signature_identity (create_time, uid)",
    "create index signature_identity_by_update_time_uid on signature_identity (update_time, uid)",
  ],
};
