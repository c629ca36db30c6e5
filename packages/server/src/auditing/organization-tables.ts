/**
 * Says how the rows of the audit log belong to organizations. Entries are sealed anew by the other server, from the same beginning of
 * the chain. So they get the same hashes, and the checkpoints of the former server still say whether they were changed. A server that had
 * the organization before continues its own chain, with its own checkpoints.
 */
import { sql } from "kysely";
import { parseHead } from "../audit/audit-entry.ts";
import type { ReadDb } from "../db/store.ts";
import { type OrganizationTables, owned, stays } from "../transfer/organization-tables.ts";

/** Keeps the row of a chain that the server has already. */
async function keepChain(db: ReadDb, organization: string) {
  const chain = await db.selectFrom("audit_chain").select("org_uid").where("org_uid", "=", organization).executeTakeFirst();
  return chain && (async () => false);
}

export const auditingTables: OrganizationTables = {
  // Before the chain, which it looks for.
  audit_checkpoint: owned("org_uid", { newRows: keepChain }),
  audit_entry: {
    rowsOf: () => sql<boolean>`1 = 0`,
    isOwned: ({ content }, organization) => parseHead(String(content)).organization === organization,
    async *read(db, organization) {
      const { readCarriedEntries } = await import("./chain/carried-entries.ts");
      for await (const { seq, content } of readCarriedEntries(db, organization)) yield { seq, content };
    },
    async newRows(db, organization) {
      const { createEntryFilter } = await import("./chain/returning-entries.ts");
      const isNew = await createEntryFilter(db, organization);
      return isNew && (({ seq, content }) => isNew({ seq: Number(seq), content: String(content) }));
    },
  },
  audit_chain: owned("org_uid", {
    newRows: keepChain,
    replaced: {
      number: sql.ref("base_number"),
      hash: sql.ref("base_hash"),
      checkpoint_number: sql.lit(0),
      checkpoint_kid: sql.lit(""),
      checkpoint_time: sql.lit(""),
    },
  }),
  audit_block: stays("made anew from the entries"),
  audit_posting: stays("an index of the entries"),
  audit_target: stays("an index of the entries"),
  audit_segment: stays("an index of the entries"),
};
