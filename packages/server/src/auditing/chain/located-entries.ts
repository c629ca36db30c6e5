/** Reads entries by their places in blocks. */
import { type RawBuilder, sql } from "kysely";
import { type Placeholders, prepare } from "../../db/prepared.ts";
import type { ReadDb } from "../../db/store.ts";
import { type ChainEntry, hashAt, type Location, NUMBER_LENGTH, numbersOf } from "./block.ts";
import { readFirstContents } from "./entry-contents.ts";
import { HASH_LENGTH, hashText } from "./hash.ts";

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
