/** Blocks of sealed entries: building one from entries, and reading entries by their blocks. */
import { setImmediate as nextTurn } from "node:timers/promises";
import { type RawBuilder, sql } from "kysely";
import type { AuditBlockTable } from "../../audit/tables.ts";
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

/** @returns content by seq */
export async function readContents(db: ReadDb, seqs: readonly number[]): Promise<Map<number, string>> {
  if (seqs.length === 0) return new Map();
  const wanted = db.dialect.rowsOf(
    seqs.map((seq) => ({ seq })),
    { seq: "bigint" },
  );
  const rows = await db
    .selectFrom("audit_entry")
    .select(["seq", "content"])
    .where("seq", "in", db.selectFrom(wanted.as("r")).select("r.seq"))
    .execute();
  return new Map(rows.map(({ seq, content }) => [Number(seq), content]));
}

interface LocatedRow {
  readonly org_uid: string;
  readonly number: number;
  readonly seq: Uint8Array;
  readonly hash: Uint8Array;
}

/** The entries at the locations, in their order. Reads a few bytes of each block, not all of it. */
export async function readLocated(db: ReadDb, locations: readonly Location[]): Promise<ChainEntry[]> {
  if (locations.length === 0) return [];
  const rows = locations.map(({ block, index }, order) => ({ block, index, place: order }));
  const wanted = db.dialect.rowsOf(rows, { block: "bigint", index: "bigint", place: "bigint" });
  const part = (column: string, length: number): RawBuilder<Uint8Array> => {
    const start = sql`cast(l."index" as integer) * ${sql.lit(length)} + 1`;
    return sql<Uint8Array>`substr(${sql.ref(column)}, ${start}, ${sql.lit(length)})`;
  };
  const { rows: found } = await sql<LocatedRow>`
    select b.org_uid, b.first_number + l."index" as number, ${part("b.seqs", NUMBER_LENGTH)} as seq, ${part("b.hashes", HASH_LENGTH)} as hash
    from ${wanted} as l join audit_block as b on b.id = l.block order by l.place`.execute(db);
  const seqs = found.map(({ seq }) => numbersOf(seq)[0] ?? 0);
  const contents = await readContents(db, seqs);
  return found.map(({ org_uid, number, hash }, order) => ({
    organization: org_uid,
    number: Number(number),
    hash: hashText(hash),
    content: contents.get(seqs[order] ?? 0),
  }));
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

/** The last block that begins at the number or before it. */
export function blockAt(db: ReadDb, organization: string, number: number): Promise<BlockHead | undefined> {
  return db
    .selectFrom("audit_block")
    .select(["id", "first_number", "count"])
    .where("org_uid", "=", organization)
    .where("first_number", "<=", number)
    .orderBy("first_number", "desc")
    .limit(1)
    .executeTakeFirst();
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
