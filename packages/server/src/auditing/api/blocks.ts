/** Reads columns of some blocks by their ids, one lookup for each. PostgreSQL would otherwise scan all blocks of a long log. */
import { type RawBuilder, sql } from "kysely";
import type { Dialect } from "../../db/dialect.ts";
import { PAGE } from "../../db/lookup.ts";
import { type Placeholders, prepare } from "../../db/prepared.ts";
import type { ReadDb } from "../../db/store.ts";
import { numbersOf } from "../chain/block.ts";
import type { BlockHead } from "../chain/chain-entries.ts";
import type { CandidateRange, ChainPart } from "./bounds.ts";

/** A block of the chain. */
export interface Block extends BlockHead {
  readonly last_time: string;
}

/** A block and its number of entries. */
export type SizedBlock = Pick<BlockHead, "id" | "count">;

export type BlockIds = readonly Pick<BlockHead, "id">[];

/** The blocks as a table `r`, for `Dialect.lookUp`. */
export function wantedBlocks({ rowsOf }: Dialect, ids: BlockIds): RawBuilder<unknown> {
  return sql`${rowsOf(ids, { id: "bigint" })} as r`;
}

export function idsOf(blocks: BlockIds): BlockIds {
  return blocks.map(({ id }) => ({ id }));
}

/** Whether a row of `audit_block as b` belongs to the chain, for a statement that finds it by its id. */
export function isInChain({ unindexed }: Dialect, organization: string): RawBuilder<boolean> {
  return sql<boolean>`${unindexed("b.org_uid")} = ${organization}`;
}

const headsById = prepare(
  (db, param: Placeholders<{ organization: string; ids: BlockIds }>) => {
    const { dialect } = db;
    const columns = sql`b.id, b.first_number, b.count, b.last_time`;
    const condition = sql<boolean>`b.id = r.id and ${isInChain(dialect, param("organization"))}`;
    return sql<Block>`${dialect.lookUp(columns, wantedBlocks(dialect, param("ids")), sql`audit_block as b`, condition)}`.compile(db);
  },
  { weight: PAGE },
);

/** Those of the blocks that belong to the chain. */
export async function readHeads(db: ReadDb, organization: string, ids: BlockIds): Promise<Block[]> {
  if (ids.length === 0) return [];
  const rows = await headsById.rows(db, { organization, ids });
  return rows.map(({ id, first_number, count, last_time }) => ({ id: Number(id), first_number: Number(first_number), count, last_time }));
}

const timesById = prepare(
  (db, param: Placeholders<{ ids: BlockIds }>) => {
    const found = db.dialect.lookUp(sql`b.id, b.times`, wantedBlocks(db.dialect, param("ids")), sql`audit_block as b`, sql`b.id = r.id`);
    return sql<{ id: number; times: Uint8Array | null }>`${found}`.compile(db);
  },
  { weight: PAGE },
);

/** The entries of blocks at the edges that are within the times, by block. Blocks that are not in the result may be inside. */
export async function indexesWithin(
  db: ReadDb,
  blocks: readonly Block[],
  { since, until, inner }: Pick<CandidateRange & ChainPart, "since" | "until" | "inner">,
): Promise<Map<number, ReadonlySet<number>>> {
  const edges = blocks.filter(
    ({ first_number, last_time }) => (since !== undefined && first_number < inner) || (until !== undefined && last_time >= until),
  );
  if (edges.length === 0) return new Map();
  const rows = await timesById.rows(db, { ids: idsOf(edges) });
  // The content of an entry decides about fractions of a millisecond.
  const from = since === undefined ? 0 : Date.parse(since);
  const to = until === undefined ? Number.MAX_SAFE_INTEGER : Date.parse(until);
  return new Map(rows.flatMap(({ id, times }) => (times === null ? [] : [[Number(id), indexesBetween(times, from, to)] as const])));
}

function indexesBetween(times: Uint8Array, from: number, to: number): ReadonlySet<number> {
  const indexes = new Set<number>();
  for (const [index, time] of numbersOf(times).entries()) if (time >= from && time <= to) indexes.add(index);
  return indexes;
}
