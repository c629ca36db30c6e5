/** Reads entries by their numbers in a chain. */
import { setImmediate as nextTurn } from "node:timers/promises";
import type { AuditBlockTable } from "../../audit/tables.ts";
import { ROW } from "../../db/lookup.ts";
import { type Placeholders, prepare } from "../../db/prepared.ts";
import type { ReadDb } from "../../db/store.ts";
import type { ChainEntry, Location } from "./block.ts";
import { bytesOf, MAX_READ_BYTES } from "./entry-contents.ts";
import { readLocated } from "./located-entries.ts";

const ENTRIES_PER_SLICE = 250;

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
