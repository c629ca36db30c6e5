/** Finds entries by the term of their target or request in the terms of blocks: those after the last segment of the index. */
import { setImmediate as nextTurn } from "node:timers/promises";
import { type RawBuilder, sql } from "kysely";
import type { Dialect } from "../../db/dialect.ts";
import { type Placeholders, prepareEach } from "../../db/prepared.ts";
import { numberBytes, numbersOf } from "../chain/block.ts";
import { type BlockIds, idsOf, isInChain, type SizedBlock, wantedBlocks } from "./blocks.ts";
import type { BlockRange, FoundPostings, Posting, Search } from "./postings.ts";

/** The property of entries that has the term. */
export type IndexedColumn = "targets" | "requests";

export interface IndexedTerm {
  readonly column: IndexedColumn;
  readonly term: number;
}

/** There are usually fewer blocks after the last segment. There are more while the index is rebuilt. */
const MAX_SCANNED_BLOCKS = 2048;
const MAX_SCANNED_ENTRIES = 32_768;
/** Number of such terms of a row of about 2 KiB, the unit of costs. */
const TERMS_PER_COST = 340;
/** For blocks of a server before the column: any of their entries may have the term. */
const UNKNOWN = new Uint8Array();
/** In the form of a posting. */
const ALL = "*";

interface TermsRow {
  readonly id: number;
  /** Empty if they are unknown; null if the term is not among them. */
  readonly terms: Uint8Array | null;
}

/** The terms of a row of `audit_block as b`. A block without the term stays in the database. */
function termsColumn(column: IndexedColumn): RawBuilder<Uint8Array> {
  return sql`coalesce(${sql.ref(`b.${column}`)}, ${UNKNOWN})`;
}

function hasTerm(dialect: Dialect, column: IndexedColumn, term: Uint8Array): RawBuilder<boolean> {
  const terms = sql.ref(`b.${column}`);
  return sql<boolean>`(${terms} is null or ${dialect.containsBytes(terms, term)})`;
}

interface ScanKey {
  readonly column: IndexedColumn;
  readonly isDescending: boolean;
}

interface ScanValues {
  readonly organization: string;
  readonly term: Uint8Array;
  readonly low: number;
  readonly high: number;
}

const termsInRange = prepareEach(
  ({ column, isDescending }: ScanKey) =>
    (db, param: Placeholders<ScanValues>) => {
      const order = sql.raw(isDescending ? "desc" : "asc");
      const first = sql`select id, count from audit_block where id >= ${param("low")} and id <= ${param("high")}
        order by id ${order} limit ${sql.lit(MAX_SCANNED_BLOCKS)}`;
      const summed = sql`select id, count, sum(count) over (order by id ${order}) as total from (${first}) as f`;
      const isWanted = sql`${isInChain(db.dialect, param("organization"))} and ${hasTerm(db.dialect, column, param("term"))}`;
      return sql<TermsRow & { total: number }>`select s.id, s.total,
        (select ${termsColumn(column)} from audit_block as b where b.id = s.id and ${isWanted}) as terms
        from (${summed}) as s where s.total - s.count < ${sql.lit(MAX_SCANNED_ENTRIES)} order by s.id ${order}`.compile(db);
    },
  ({ column, isDescending }) => `${column} ${isDescending}`,
  { capacity: 4 },
);

export async function scanBlocks({ db, organization }: Search, { column, term }: IndexedTerm, range: BlockRange): Promise<FoundPostings> {
  const { low, high, isDescending } = range;
  if (low > high) return { postings: [], horizon: undefined, cost: 0 };
  const rows = await termsInRange({ column, isDescending }).rows(db, { organization, term: numberBytes([term]), low, high });
  const total = Number(rows.at(-1)?.total ?? 0);
  const isAll = rows.length < MAX_SCANNED_BLOCKS && total < MAX_SCANNED_ENTRIES;
  const horizon = isAll ? undefined : Number(rows.at(-1)?.id);
  return { postings: rows.flatMap((row) => postingIn(row, term)), horizon, cost: rows.length + total / TERMS_PER_COST };
}

function postingIn({ id, terms }: TermsRow, term: number): Posting[] {
  if (terms === null) return [];
  if (terms.length === 0) return [{ block: Number(id), entries: ALL }];
  const entries = numbersOf(terms).flatMap((one, index) => (one === term ? [index] : []));
  return entries.length === 0 ? [] : [{ block: Number(id), entries }];
}

const termsById = prepareEach(
  (column: IndexedColumn) => (db, param: Placeholders<{ organization: string; term: Uint8Array; ids: BlockIds }>) => {
    const isWanted = sql`${isInChain(db.dialect, param("organization"))} and ${hasTerm(db.dialect, column, param("term"))}`;
    const columns = sql`b.id, ${termsColumn(column)} as terms`;
    const wanted = wantedBlocks(db.dialect, param("ids"));
    return sql<TermsRow>`${db.dialect.lookUp(columns, wanted, sql`audit_block as b`, sql`b.id = r.id and ${isWanted}`)}`.compile(db);
  },
  (column) => column,
  { capacity: 2 },
);

/** The entries of some blocks. */
export async function scanGiven(
  { db, organization }: Search,
  { column, term }: IndexedTerm,
  blocks: readonly SizedBlock[],
): Promise<Posting[]> {
  const found: Posting[] = [];
  for (let rest = blocks; rest.length > 0; ) {
    const some = takeEntries(rest);
    const rows = await termsById(column).rows(db, { organization, term: numberBytes([term]), ids: idsOf(some) });
    found.push(...rows.flatMap((row) => postingIn(row, term)));
    rest = rest.slice(some.length);
    await nextTurn();
  }
  return found;
}

/** The first blocks, as many as one statement may scan. */
function takeEntries(blocks: readonly SizedBlock[]): readonly SizedBlock[] {
  let entries = 0;
  const end = blocks.findIndex(({ count }, at) => {
    entries += count;
    return at > 0 && entries > MAX_SCANNED_ENTRIES;
  });
  return end === -1 ? blocks : blocks.slice(0, end);
}
