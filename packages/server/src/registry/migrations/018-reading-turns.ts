/** Replaces the queue of unread images by one queue per organization, so that organizations take turns. */
import type { Migration } from "../../db/migrate.ts";

export const readingTurns: Migration = {
  version: 18,
  name: "reading-turns",
  statements: ({ types: { text, hotTable, keyTable }, vacuumEarly }) => [
    `create table image_wait (
      digest ${text} not null references image_scan (digest) on delete cascade, org_uid ${text} not null, due_time ${text} not null,
      primary key (digest, org_uid)) ${keyTable}`,
    ...vacuumEarly("image_wait"),
    `insert into image_wait (digest, org_uid, due_time)
      select distinct s.digest, substr(m.repo_uid, 1, 40), s.due_time from image_scan s join manifest m on m.digest = s.digest
      where s.due_time is not null`,
    "create index image_wait_by_org_uid on image_wait (org_uid, due_time, digest)",
    `create table image_turn (org_uid ${text} not null primary key, turn_time ${text} not null) ${hotTable}`,
    "drop index image_scan_by_due_time",
    "alter table image_scan drop column due_time",
    "create index image_scan_by_lease_time on image_scan (lease_time) where lease_time is not null",
  ],
};
