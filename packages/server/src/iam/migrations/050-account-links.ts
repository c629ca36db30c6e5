/** Creates the table of the links between local accounts and identities of organizations' providers. */
import type { Dialect } from "../../db/dialect.ts";
import type { Migration } from "../../db/migrate.ts";

export const accountLinks: Migration = {
  version: 50,
  name: "account-links",
  statements: ({ types: { text, integer } }: Dialect) => [
    `create table account_link (
      uid ${text} not null primary key, org_uid ${text} not null references "group" (uid),
      identity_uid ${text} not null references local_account (identity_uid) on delete cascade,
      linked_uid ${text} not null, idp_uid ${text} not null, name ${text} not null, create_time ${text} not null)`,
    "create unique index account_link_by_linked_uid on account_link (linked_uid, org_uid)",
    "create unique index account_link_by_identity_uid on account_link (identity_uid, org_uid)",
    "create index account_link_by_org_uid on account_link (org_uid, uid)",
    `alter table sign_in_settings add column allows_account_links ${integer} not null default 0`,
  ],
};
