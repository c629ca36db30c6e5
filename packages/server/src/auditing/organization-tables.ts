/**
 * Says how the rows of the audit log belong to organizations. Entries are sealed anew by the other server, from the same beginning of
 * the chain. So they get the same hashes, and the checkpoints of the former server still say whether they were changed.
 */
import { sql } from "kysely";
import { type OrganizationTables, owned, stays } from "../transfer/organization-tables.ts";

export const auditingTables: OrganizationTables = {
  audit_chain: owned("org_uid", {
    replaced: {
      number: sql.ref("base_number"),
      hash: sql.ref("base_hash"),
      checkpoint_number: sql.lit(0),
      checkpoint_kid: sql.lit(""),
      checkpoint_time: sql.lit(""),
    },
  }),
  audit_checkpoint: owned("org_uid"),
  audit_entry: {
    rowsOf: () => sql<boolean>`1 = 0`,
    async *read(db, organization) {
      const { readCarriedEntries } = await import("./chain/carried-entries.ts");
      for await (const content of readCarriedEntries(db, organization)) yield { seq: 0, content };
    },
  },
  audit_block: stays("made anew from the entries"),
  audit_posting: stays("an index of the entries"),
  audit_target: stays("an index of the entries"),
};
