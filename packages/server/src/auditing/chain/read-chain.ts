/** Verifies the chains of a database: the entries, the end of the chain, and the signed checkpoints. */
import { setImmediate as nextTurn } from "node:timers/promises";
import type { AuditBlockTable } from "../../audit/tables.ts";
import type { ReadDb } from "../../db/store.ts";
import { type ChainEntry, hashAt, isWellFormed, numbersOf } from "./block.ts";
import { blockAt, hashOfNumber } from "./chain-entries.ts";
import { type CheckpointVerdict, type FindKey, verifyCheckpoint } from "./checkpoint.ts";
import { readFirstContents } from "./entry-contents.ts";
import { hashText } from "./hash.ts";
import { ChainWalk, type Link, type Problem, problem } from "./verify.ts";

const ENTRIES_PER_READ = 500;
const BLOCKS_PER_READ = 50;

export interface ChainResult {
  /** Entries that were verified. */
  readonly count: number;
  readonly last: Link;
  readonly problem: Problem | undefined;
  /** Whether the end of the chain was reached. */
  readonly isComplete: boolean;
  /** Facts about the newest checkpoint; undefined if there is none, or the end was not reached. */
  readonly checkpoint?: { readonly number: number; readonly verdict: CheckpointVerdict } | undefined;
}

export interface ChainRange {
  readonly organization: string;
  /** The end of an earlier part of the verification; undefined for the beginning. */
  readonly after: Link | undefined;
  readonly maxEntries: number;
}

/** @param db one snapshot */
export async function verifyChain(db: ReadDb, { organization, after, maxEntries }: ChainRange, findKey: FindKey): Promise<ChainResult> {
  const chain = await db.selectFrom("audit_chain").selectAll().where("org_uid", "=", organization).executeTakeFirst();
  const base = { number: Number(chain?.base_number ?? 0), hash: chain?.base_hash ?? "" };
  const walk = new ChainWalk(after ?? base);
  let count = 0;
  const result = (found?: Problem): ChainResult => ({ count, last: walk.last, problem: found, isComplete: false });
  for (;;) {
    const blocks = await readBlocks(db, organization, walk.last.number);
    for (const block of blocks) {
      const malformed = problemOfBlock(block, walk.last.number);
      if (malformed !== undefined) return result(malformed);
      for (let index = walk.last.number + 1 - block.first_number; index < block.count; ) {
        const entries = await readPart(db, block, index, ENTRIES_PER_READ + 1);
        for (const [at, entry] of verifiedOf(entries, block.count - index).entries()) {
          const found = walk.step(entry, entries[at + 1]);
          if (found !== undefined) return result(found);
          count++;
          index++;
        }
        // Reads of SQLite give way to nothing else.
        await nextTurn();
      }
      if (count >= maxEntries) return result();
    }
    if (blocks.length < BLOCKS_PER_READ) break;
  }
  const end: Link = { number: Number(chain?.number ?? 0), hash: chain?.hash ?? "" };
  const atEnd = problemAtEnd(walk.last, end);
  if (atEnd !== undefined) return result(atEnd);
  const checked = await checkCheckpoints(db, { organization, base, last: walk.last }, findKey);
  return { ...result(checked.problem), isComplete: true, checkpoint: checked.newest };
}

/** Blocks that have entries after the number. */
async function readBlocks(db: ReadDb, organization: string, after: number): Promise<AuditBlockTable[]> {
  const from = (await blockAt(db, organization, after + 1))?.first_number ?? after + 1;
  const rows = await db
    .selectFrom("audit_block")
    .selectAll()
    .where("org_uid", "=", organization)
    .where("first_number", ">=", from)
    .orderBy("first_number")
    .limit(BLOCKS_PER_READ)
    .execute();
  const blocks = rows.map((row) => ({ ...row, id: Number(row.id), first_number: Number(row.first_number) }));
  return blocks.filter(({ first_number, count }) => first_number + count > after + 1 || first_number > after);
}

function problemOfBlock(block: AuditBlockTable, last: number): Problem | undefined {
  const { first_number: first } = block;
  if (first > last + 1) return problem("removed", last + 1, "it is missing");
  if (!isWellFormed(block)) return problem("changed", Math.max(first, last + 1), "its block is damaged");
  return undefined;
}

/** The entries of a read without the last one, which explains a problem of the one before, unless it is all that is left or was read. */
function verifiedOf(entries: readonly ChainEntry[], left: number): readonly ChainEntry[] {
  return entries.length === left || entries.length === 1 ? entries : entries.slice(0, -1);
}

/** Entries of a block, from an index on, up to the limit or the bytes of one read. */
async function readPart(db: ReadDb, block: AuditBlockTable, from: number, limit: number): Promise<ChainEntry[]> {
  const seqs = numbersOf(block.seqs).slice(from, from + limit);
  const { contents, count } = await readFirstContents(db, seqs);
  return seqs.slice(0, count).map((seq, index) => ({
    organization: block.org_uid,
    number: block.first_number + from + index,
    hash: hashText(hashAt(block, from + index)),
    content: contents.get(seq),
  }));
}

function problemAtEnd(last: Link, end: Link): Problem | undefined {
  if (last.number < end.number) return problem("removed", last.number + 1, "the chain ends after it");
  if (last.number > end.number) return problem("inserted", end.number + 1, "the chain ends before it");
  return last.hash === end.hash ? undefined : problem("changed", last.number, "the end of the chain has another hash");
}

interface Range {
  readonly organization: string;
  readonly base: Link;
  readonly last: Link;
}

async function checkCheckpoints(
  db: ReadDb,
  { organization, base, last }: Range,
  findKey: FindKey,
): Promise<{ problem?: Problem; newest?: ChainResult["checkpoint"] }> {
  const rows = await db
    .selectFrom("audit_checkpoint")
    .select(["number", "jws"])
    .where("org_uid", "=", organization)
    .orderBy("time", "desc")
    .orderBy("number", "desc")
    .execute();
  let newest: ChainResult["checkpoint"];
  for (const [index, row] of rows.entries()) {
    const { verdict, checkpoint } = await verifyCheckpoint(row.jws, findKey);
    const number = checkpoint?.number ?? Number(row.number);
    if (index === 0) newest = { number, verdict };
    if (verdict === "invalid" || checkpoint?.organization !== organization)
      return { newest, problem: problem("changed", number, "the checkpoint of this entry is not signed by this server") };
    if (number > last.number) return { newest, problem: problem("removed", last.number + 1, "a signed checkpoint covers it") };
    if (index === 0 && (checkpoint.base_number !== base.number || checkpoint.base_hash !== base.hash))
      return { newest, problem: problem("removed", checkpoint.base_number + 1, "a signed checkpoint begins with it") };
    if (number > base.number && (await hashOfNumber(db, organization, number)) !== checkpoint.hash)
      return { newest, problem: problem("changed", number, "a signed checkpoint has another hash") };
  }
  if (newest === undefined && base.number > 0)
    return { newest, problem: problem("removed", 1, "no signed checkpoint says that retention removed it") };
  return { newest };
}
