/** Creates the table of mails that wait to be sent. */
import type { Dialect } from "../../db/dialect.ts";
import type { Migration } from "../../db/migrate.ts";

export const mails: Migration = {
  version: 41,
  name: "mails",
  statements: ({ types: { text, integer } }: Dialect) => [
    `create table mail (
      uid ${text} not null primary key, org_uid ${text} not null, recipient_hash ${text} not null, content ${text},
      attempts ${integer} not null, next_attempt_time ${text}, create_time ${text} not null, expire_time ${text} not null,
      lease_holder ${text}, lease_time ${text})`,
    "create index mail_by_next_attempt_time on mail (next_attempt_time, uid) where next_attempt_time is not null",
    "create index mail_by_org_uid on mail (org_uid, create_time)",
    "create index mail_by_recipient_hash on mail (recipient_hash, create_time)",
    "create index mail_by_create_time on mail (create_time)",
  ],
};
