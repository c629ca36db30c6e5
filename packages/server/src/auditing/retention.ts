/**
 * Deletes blocks whose entries are all older than the retention, from the beginning of each chain. A signed checkpoint names the entry
 * that the chain begins after, so that nobody else can shorten a chain unnoticed.
 */
import { setImmediate as nextTurn } from "node:timers/promises";
import { parseHead } from "../audit/audit-entry.ts";
import type { AuditBlockTable } from "../audit/tables.ts";
import type { Store, WriteDb } from "../db/store.ts";
import { hashAt, isWellFormed, numbersOf } from "./chain/block.ts";
import { type CheckpointParts, signCheckpoint, storeNewBase } from "./chain/checkpoint.ts";
import { readContents } from "./chain/entry-contents.ts";
import { hashText } from "./chain/hash.ts";
import { forgetSegments } from "./chain/segment-index.ts";
import { keysOf, termOf } from "./chain/terms.ts";

const CHAINS_PER_READ = 500;

/** Deletes at most one block of each chain. @returns whether there may be more */
export async function pruneEntries(parts: CheckpointParts, retentionMs: number): Promise<boolean> {
  const cutoff = new Date(parts.clock.now().getTime() - retentionMs).toISOString();
  let hasMore = false;
  for (let after = ""; ; ) {
    const chains = await readChains(parts.store, after);
    for (const { org_uid } of chains) hasMore = (await pruneChain(org_uid, cutoff, parts)) || hasMore;
    const last = chains.at(-1);
    if (last === undefined || chains.length < CHAINS_PER_READ) break;
    after = last.org_uid;
  }
  await forgetSegments(parts.store);
  return hasMore;
}

/** The first chain, that of the server, has the empty string as its organization. */
function readChains({ reader }: Store, after: string) {
  const query = reader.selectFrom("audit_chain").select("org_uid").orderBy("org_uid").limit(CHAINS_PER_READ);
  return (after === "" ? query : query.where("org_uid", ">", after)).execute();
}

/** A chain that is not intact at its beginning is left as it is. */
async function pruneChain(organization: string, cutoff: string, parts: CheckpointParts): Promise<boolean> {
  const { store } = parts;
  const chain = await store.reader.selectFrom("audit_chain").selectAll().where("org_uid", "=", organization).executeTakeFirstOrThrow();
  const block = await store.reader
    .selectFrom("audit_block")
    .selectAll()
    .where("org_uid", "=", organization)
    .where("first_number", "=", Number(chain.base_number) + 1)
    .executeTakeFirst();
  if (block === undefined || block.last_time >= cutoff || !isWellFormed(block)) return false;
  const base = { base_number: Number(block.first_number) + block.count - 1, base_hash: hashText(hashAt(block, block.count - 1)) };
  // Signed before the transaction: the end of the chain may have moved on since, and the checkpoint is still true.
  const signed = await signCheckpoint({ ...chain, ...base }, parts);
  return store.transaction(async (db) => {
    const moved = await db
      .updateTable("audit_chain")
      .set(base)
      .where("org_uid", "=", organization)
      .where("base_number", "=", chain.base_number)
      .executeTakeFirst();
    if (moved.numUpdatedRows === 0n) return false;
    await deleteBlock(db, { ...block, id: Number(block.id) });
    await storeNewBase(db, signed);
    return true;
  });
}

async function deleteBlock(db: WriteDb, { id, org_uid, seqs }: AuditBlockTable): Promise<void> {
  const rows = numbersOf(seqs).map((seq) => ({ seq }));
  const contents = await readContents(
    db,
    rows.map(({ seq }) => seq),
  );
  // On SQLite a statement cannot be interrupted, so the event loop is free before each one.
  await nextTurn();
  const terms = [...new Set([...contents.values()].flatMap(keysIn).map((key) => termOf(org_uid, key)))];
  const { rowsOf } = db.dialect;
  const postings = db
    .selectFrom(
      rowsOf(
        terms.map((term) => ({ term })),
        { term: "bigint" },
      ).as("t"),
    )
    .select("t.term");
  await nextTurn();
  await db.deleteFrom("audit_posting").where("term", "in", postings).where("block", "=", id).execute();
  await nextTurn();
  const entries = db.selectFrom(rowsOf(rows, { seq: "bigint" }).as("r")).select("r.seq");
  await db.deleteFrom("audit_entry").where("seq", "in", entries).execute();
  await nextTurn();
  await db.deleteFrom("audit_block").where("id", "=", id).execute();
}

/** Postings of a damaged entry stay. They name no block, so that nothing finds them. */
function keysIn(content: string): string[] {
  try {
    return keysOf(parseHead(content));
  } catch {
    return [];
  }
}
