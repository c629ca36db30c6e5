/** Blocks of sealed entries: building one from entries, and reading entries by their blocks. */
import { setImmediate as nextTurn } from "node:timers/promises";
import { type RawBuilder, sql } from "kysely";
import { MAX_PAGE_BYTES } from "../../api/resource/page-bytes.ts";
import type { AuditBlockTable } from "../../audit/tables.ts";
import { ROW } from "../../db/lookup.ts";
import { type Placeholders, prepare } from "../../db/prepared.ts";
import type { ReadDb } from "../../db/store.ts";
import { HASH_LENGTH, hashText } from "./hash.ts";

const ENTRIES_PER_SLICE = 250;
/** Of a `seq` or a term in a block. */
const NUMBER_LENGTH = 6;

/** An entry of a chain. */
export interface ChainEntry {
  /** Uid; empty for the chain of the server. */
  readonly organization: string;
  readonly number: number;
  /** Base64url. */
  readonly hash: string;
  /** Undefined for a row that is missing. */
  readonly content: string | undefined;
}

/** The place of an entry in its block. */
export interface Location {
  readonly block: number;
  readonly index: number;
}

export function numberBytes(numbers: readonly number[]): Buffer {
  const bytes = Buffer.allocUnsafe(numbers.length * NUMBER_LENGTH);
  for (const [index, number] of numbers.entries()) bytes.writeUIntBE(number, index * NUMBER_LENGTH, NUMBER_LENGTH);
  return bytes;
}

export function numbersOf(bytes: Uint8Array): number[] {
  const buffer = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  return Array.from({ length: Math.floor(bytes.length / NUMBER_LENGTH) }, (_, index) =>
    buffer.readUIntBE(index * NUMBER_LENGTH, NUMBER_LENGTH),
  );
}

/** Whether a block has as many hashes and rows as it says. */
export function isWellFormed({ count, seqs, hashes }: Pick<AuditBlockTable, "count" | "seqs" | "hashes">): boolean {
  return count > 0 && seqs.length === count * NUMBER_LENGTH && hashes.length === count * HASH_LENGTH;
}

export function hashAt({ hashes }: Pick<AuditBlockTable, "hashes">, index: number): Uint8Array {
  return hashes.subarray(index * HASH_LENGTH, (index + 1) * HASH_LENGTH);
}

const contentsBySeq = prepare((db, param: Placeholders<{ seqs: readonly { readonly seq: number }[] }>) => {
  const wanted = sql`${db.dialect.rowsOf(param("seqs"), { seq: "bigint" })} as r`;
  const found = db.dialect.lookUp(sql`e.seq, e.content`, wanted, sql`audit_entry as e`, sql`e.seq = r.seq`);
  return sql<{ seq: number; content: string }>`${found}`.compile(db);
});

/** @returns content by seq */
export async function readContents(db: ReadDb, seqs: readonly number[]): Promise<Map<number, string>> {
  if (seqs.length === 0) return new Map();
  const rows = await contentsBySeq.rows(db, { seqs: seqs.map((seq) => ({ seq })) });
  return new Map(rows.map(({ seq, content }) => [Number(seq), content]));
}

/** An entry of a batch may have 1.5 MB, so a read ends by bytes, too. Clients of gRPC refuse messages of more than 4 MiB by default. */
export const MAX_READ_BYTES = MAX_PAGE_BYTES;

export function bytesOf({ content = "" }: Pick<ChainEntry, "content">): number {
  return Buffer.byteLength(content);
}

interface ContentRow {
  readonly place: number;
  readonly seq: number;
  readonly content: string;
  /** Number of the rows that are there. */
  readonly present: number;
}

const firstContentsBySeq = prepare((db, param: Placeholders<{ seqs: readonly { readonly place: number; readonly seq: number }[] }>) => {
  const wanted = sql`${db.dialect.rowsOf(param("seqs"), { place: "bigint", seq: "bigint" })} as r`;
  const columns = sql`r.place, e.seq, octet_length(e.content) as size`;
  const sized = db.dialect.lookUp(columns, wanted, sql`audit_entry as e`, sql`e.seq = r.seq`);
  const summed = sql`select f.*, sum(f.size) over (order by f.place) as total, count(*) over () as present from (${sized}) as f`;
  return sql<ContentRow>`select s.place, s.seq, s.present, (select e.content from audit_entry as e where e.seq = s.seq) as content
    from (${summed}) as s where s.total - s.size < ${sql.lit(MAX_READ_BYTES)} order by s.place`.compile(db);
});

/** @returns content by seq, up to the one that reaches `MAX_READ_BYTES`, and the number of seqs that were read */
export async function readFirstContents(
  db: ReadDb,
  seqs: readonly number[],
): Promise<{ readonly contents: ReadonlyMap<number, string>; readonly count: number }> {
  const rows = seqs.length === 0 ? [] : await firstContentsBySeq.rows(db, { seqs: seqs.map((seq, place) => ({ place, seq })) });
  const contents = new Map(rows.map(({ seq, content }) => [Number(seq), content]));
  const isCut = rows.length < Number(rows[0]?.present ?? 0);
  return { contents, count: isCut ? Number(rows.at(-1)?.place) + 1 : seqs.length };
}

/** Neighbouring entries of a block that one row of a result has. */
interface Run {
  readonly block: number;
  first: number;
  last: number;
}

/**
 * Entries between two locations of a run at most. SQLite follows the pages of a column from its beginning, so that a new run costs as much
 * as a thousand entries. PostgreSQL finds a part of a column by its index, and each entry of a run crosses the connection.
 */
const MAX_RUN_GAP = { inProcess: 1000, remote: 16 };

/** Assigns each location to a run. Locations are in the order of the entries, or in the opposite order. */
function runsOf({ dialect }: ReadDb, locations: readonly Location[]): { runs: Run[]; indexes: number[] } {
  const maxGap = dialect.isInProcess ? MAX_RUN_GAP.inProcess : MAX_RUN_GAP.remote;
  const runs: Run[] = [];
  const indexes = locations.map(({ block, index }) => {
    const run = runs.at(-1);
    if (run?.block === block && index >= run.first - maxGap && index <= run.last + maxGap) {
      run.first = Math.min(run.first, index);
      run.last = Math.max(run.last, index);
    } else runs.push({ block, first: index, last: index });
    return runs.length - 1;
  });
  return { runs, indexes };
}

/** Reads of blocks that `readLocated` makes. */
export function countReads(db: ReadDb, locations: readonly Location[]): number {
  return runsOf(db, locations).runs.length;
}

interface RunRow {
  readonly run: number;
  readonly org_uid: string;
  readonly first_number: number;
  readonly seqs: Uint8Array;
  readonly hashes: Uint8Array;
}

export interface LocatedEntries {
  readonly entries: readonly ChainEntry[];
  /** Number of the locations that were read, from the first one on. */
  readonly count: number;
}

/**
 * The entries at the locations, in their order, up to the one that reaches `MAX_READ_BYTES`. Reads a few bytes of each block,
 * not all of it.
 */
export async function readLocated(db: ReadDb, locations: readonly Location[]): Promise<LocatedEntries> {
  if (locations.length === 0) return { entries: [], count: 0 };
  const { runs, indexes } = runsOf(db, locations);
  const rows = await readRuns(db, runs);
  const found = locations.flatMap(({ index }, order) => {
    const run = runs[indexes[order] as number] as Run;
    const row = rows.get(indexes[order] as number);
    if (row === undefined) return [];
    const at = index - run.first;
    const seq = numbersOf(row.seqs.subarray(at * NUMBER_LENGTH, (at + 1) * NUMBER_LENGTH))[0] ?? 0;
    const entry = { organization: row.org_uid, number: Number(row.first_number) + index, hash: hashText(hashAt(row, at)) };
    return [{ order, seq, entry }];
  });
  const { contents, count } = await readFirstContents(
    db,
    found.map(({ seq }) => seq),
  );
  const entries = found.slice(0, count).map(({ seq, entry }) => ({ ...entry, content: contents.get(seq) }));
  return { entries, count: found[count]?.order ?? locations.length };
}

interface WantedRun {
  readonly run: number;
  readonly block: number;
  readonly first: number;
  readonly count: number;
}

const partsOfBlocks = prepare((db, param: Placeholders<{ runs: readonly WantedRun[] }>) => {
  const wanted = sql`${db.dialect.rowsOf(param("runs"), { run: "bigint", block: "bigint", first: "bigint", count: "bigint" })} as r`;
  const part = (column: string, length: number): RawBuilder<Uint8Array> => {
    const start = sql`cast(r."first" as integer) * ${sql.lit(length)} + 1`;
    return sql<Uint8Array>`substr(${sql.ref(column)}, ${start}, cast(r."count" as integer) * ${sql.lit(length)})`;
  };
  const columns = sql`r.run, b.org_uid, b.first_number, ${part("b.seqs", NUMBER_LENGTH)} as seqs, ${part("b.hashes", HASH_LENGTH)} as hashes`;
  return sql<RunRow>`${db.dialect.lookUp(columns, wanted, sql`audit_block as b`, sql`b.id = r.block`)}`.compile(db);
});

async function readRuns(db: ReadDb, runs: readonly Run[]): Promise<Map<number, RunRow>> {
  const wanted = runs.map(({ block, first, last }, run) => ({ run, block, first, count: last - first + 1 }));
  const rows = await partsOfBlocks.rows(db, { runs: wanted });
  return new Map(rows.map((row) => [Number(row.run), row]));
}

export type BlockHead = Pick<AuditBlockTable, "id" | "first_number" | "count">;

export interface ChainPage {
  readonly entries: readonly ChainEntry[];
  readonly hasMore: boolean;
}

/** The first entries of a chain after a number, in order, up to the limit or the one that reaches `MAX_READ_BYTES`. */
export async function readChainEntries(db: ReadDb, organization: string, after: number, limit: number): Promise<ChainPage> {
  const locations = await locationsAfter(db, organization, after, limit + 1);
  const wanted = locations.slice(0, limit);
  const entries: ChainEntry[] = [];
  let bytes = 0;
  let read = 0;
  // The event loop is free between two slices, also on SQLite.
  while (read < wanted.length && bytes < MAX_READ_BYTES) {
    if (read > 0) await nextTurn();
    const slice = await readLocated(db, wanted.slice(read, read + ENTRIES_PER_SLICE));
    entries.push(...slice.entries);
    for (const entry of slice.entries) bytes += bytesOf(entry);
    read += slice.count;
  }
  return { entries, hasMore: read < locations.length };
}

async function locationsAfter(db: ReadDb, organization: string, after: number, limit: number): Promise<Location[]> {
  const containing = await blockAt(db, organization, after + 1);
  const from = containing?.first_number ?? after + 1;
  // A block has at least one entry.
  const blocks = await db
    .selectFrom("audit_block")
    .select(["id", "first_number", "count"])
    .where("org_uid", "=", organization)
    .where("first_number", ">=", from)
    .orderBy("first_number")
    .limit(limit)
    .execute();
  const locations: Location[] = [];
  for (const block of blocks) {
    const start = Math.max(0, after + 1 - Number(block.first_number));
    for (let index = start; index < block.count && locations.length < limit; index++) locations.push({ block: Number(block.id), index });
  }
  return locations;
}

const lastBlockFrom = prepare(
  (db, param: Placeholders<{ organization: string; number: number }>) =>
    db
      .selectFrom("audit_block")
      .select(["id", "first_number", "count"])
      .where("org_uid", "=", param("organization"))
      .where("first_number", "<=", param("number"))
      .orderBy("first_number", "desc")
      .limit(1)
      .compile(),
  { weight: ROW },
);

/** The last block that begins at the number or before it. */
export function blockAt(db: ReadDb, organization: string, number: number): Promise<BlockHead | undefined> {
  return lastBlockFrom.first(db, { organization, number });
}

/** Base64url; undefined if the chain does not have the entry. */
export async function hashOfNumber(db: ReadDb, organization: string, number: number): Promise<string | undefined> {
  const block = await blockAt(db, organization, number);
  if (block === undefined) return undefined;
  const index = number - Number(block.first_number);
  if (index >= block.count) return undefined;
  const { entries } = await readLocated(db, [{ block: Number(block.id), index }]);
  return entries[0]?.hash;
}
