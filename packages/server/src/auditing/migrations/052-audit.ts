/** Creates the tables of the audit log: entries, the sealed blocks of their chains, the index for filters, and checkpoints. */
import type { Dialect } from "../../db/dialect.ts";
import type { Migration } from "../../db/migrate.ts";

export const audit: Migration = {
  version: 52,
  name: "audit",
  statements: ({ types: { text, integer, bigint, bytes, sequence, keyTable } }: Dialect) => [
    `create table audit_entry (seq ${sequence}, content ${text} not null)`,
    `create table audit_block (
      id ${bigint} not null primary key, org_uid ${text} not null, first_number ${bigint} not null, count ${integer} not null,
      last_time ${text} not null, targets ${bytes} not null, seqs ${bytes} not null, hashes ${bytes} not null)`,
    "create unique index audit_block_by_number on audit_block (org_uid, first_number)",
    "create index audit_block_by_time on audit_block (org_uid, last_time)",
    `create table audit_posting (
      term ${bigint} not null, block ${bigint} not null, entries ${text} not null, primary key (term, block)) ${keyTable}`,
    `create table audit_target (
      segment ${bigint} not null, term ${bigint} not null, block ${bigint} not null, entries ${text} not null,
      primary key (segment, term, block)) ${keyTable}`,
    `create table audit_chain (
      org_uid ${text} not null primary key, number ${bigint} not null, hash ${text} not null, base_number ${bigint} not null,
      base_hash ${text} not null, checkpoint_number ${bigint} not null, checkpoint_kid ${text} not null, checkpoint_time ${text} not null)`,
    `create table audit_checkpoint (
      org_uid ${text} not null, number ${bigint} not null, time ${text} not null, kid ${text} not null, jws ${text} not null,
      primary key (org_uid, time, number))`,
  ],
};
