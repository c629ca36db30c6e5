/** Creates the table of the public keys that groups trust to sign images. */
import type { Migration } from "../../db/migrate.ts";

export const signatureKeys: Migration = {
  version: 36,
  name: "signature-keys",
  statements: ({ types: { text } }) => [
    `create table signature_key (
      uid ${text} not null primary key, parent ${text} not null references "group" (uid), name ${text} not null,
      create_time ${text} not null, update_time ${text} not null, body ${text} not null)`,
    "create unique index signature_key_by_parent_name on signature_key (parent, name)",
    "create index signature_key_by_parent_uid on signature_key (parent, uid)",
    "create index signature_key_by_name_uid on signature_key (name, uid)",
    "create index signature_key_by_create_time_uid on signature_key (create_time, uid)",
    "create index signature_key_by_update_time_uid on signature_key (update_time, uid)",
  ],
};
