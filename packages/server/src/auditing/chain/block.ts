/** Blocks of sealed entries: building one from entries, and reading entries by their blocks. */
import { setImmediate as nextTurn } from "node:timers/promises";
import { type RawBuilder, sql } from "kysely";
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

/** The entries at the locations, in their order. Reads a few bytes of each block, not all of it. */
export async function readLocated(db: ReadDb, locations: readonly Location[]): Promise<ChainEntry[]> {
  if (locations.length === 0) return [];
  const { runs, indexes } = runsOf(db, locations);
  const rows = await readRuns(db, runs);
  const found = locations.flatMap(({ index }, order) => {
    const run = runs[indexes[order] as number] as Run;
    const row = rows.get(indexes[order] as number);
    if (row === undefined) return [];
    const at = index - run.first;
    const seq = numbersOf(row.seqs.subarray(at * NUMBER_LENGTH, (at + 1) * NUMBER_LENGTH))[0] ?? 0;
    return [{ organization: row.org_uid, number: Number(row.first_number) + index, hash: hashText(hashAt(row, at)), seq }];
  });
  const contents = await readContents(
    db,
    found.map(({ seq }) => seq),
  );
  return found.map(({ seq, ...entry }) => ({ ...entry, content: contents.get(seq) }));
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

/** The first entries of a chain after a number, in order. */
export async function readChainEntries(db: ReadDb, organization: string, after: number, limit: number): Promise<ChainEntry[]> {
  const containing = await blockAt(db, organization, after + 1);
  const from = containing?.first_number ?? after + 1;
  // A block has at least one entry.
  const blocks = await db
    .selectFrom("audit_block")
    .select(["id", "first_number", "count"])
    .where("org_uid", "=", organization)
    .where("first_number", ">=", from)
    .orderBy("first_number")
    .limit(limit + 1)
    .execute();
  const locations: Location[] = [];
  for (const block of blocks) {
    const start = Math.max(0, after + 1 - Number(block.first_number));
    for (let index = start; index < block.count && locations.length < limit; index++) locations.push({ block: Number(block.id), index });
  }
  // The event loop is free between two slices, also on SQLite.
  const entries: ChainEntry[] = [];
  for (let start = 0; start < locations.length; start += ENTRIES_PER_SLICE) {
    if (start > 0) await nextTurn();
    entries.push(...(await readLocated(db, locations.slice(start, start + ENTRIES_PER_SLICE))));
  }
  return entries;
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
  const [entry] = await readLocated(db, [{ block: Number(block.id), index }]);
  return entry?.hash;
}
