/**
 * Indexes the requests of audit entries as well as their targets, in segments of sorted buckets, and keeps the times of entries in their
 * blocks. `audit_target` stays for servers of earlier versions; they index it anew.
 */
import type { Dialect } from "../../db/dialect.ts";
import type { Migration } from "../../db/migrate.ts";

export const auditSegments: Migration = {
  version: 56,
  name: "audit-segments",
  statements: ({ types: { bigint, integer, bytes, keyTable } }: Dialect) => [
    `alter table audit_block add column times ${bytes}`,
    `alter table audit_block add column requests ${bytes}`,
    `create table audit_segment (
      bucket ${integer} not null, segment ${bigint} not null, first_block ${bigint} not null, records ${bytes} not null,
      primary key (bucket, segment)) ${keyTable}`,
    "delete from audit_target",
    "delete from server_state where name = 'audit_target_index'",
  ],
};
