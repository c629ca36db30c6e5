/**
 * Counts the names of artifacts again and compares the result with the maintained counts. A server from before migration 58 that publishes or
 * deletes libraries during a rolling upgrade does not maintain them.
 */
import { sql } from "kysely";
import type { CountCheck } from "../db/count-check.ts";
import type { ReadDb, WriteDb } from "../db/store.ts";
import { NAME_COUNTS } from "./migrations/058-library-name-counts.ts";

/** A count that differs from the artifacts, with the difference to add. */
interface NameCountError {
  readonly group_uid: string;
  readonly gram: string;
  readonly ecosystem: number;
  readonly remediated: number;
  readonly below: number;
  readonly direct: number;
}

const ROWS_PER_STATEMENT = 500;

/** @param db a snapshot: artifacts and counts must be of the same moment */
export async function checkNameCounts(db: ReadDb): Promise<CountCheck> {
  const { rows: errors } = await sql<NameCountError>`select d.group_uid, d.gram, d.ecosystem, d.remediated,
      cast(sum(d.below) as bigint) as below, cast(sum(d.direct) as bigint) as direct
    from (select * from (${sql.raw(NAME_COUNTS)}) as actual
      union all select group_uid, gram, ecosystem, remediated, slot, -below, -direct from library_name_count) as d
    group by d.group_uid, d.gram, d.ecosystem, d.remediated having sum(d.below) <> 0 or sum(d.direct) <> 0
    order by 1, 2, 3, 4`.execute(db);
  return { wrong: errors.length, repair: (write) => addDifferences(write, errors) };
}

/** Adds the differences, so that changes since the check keep their effect. */
async function addDifferences(db: WriteDb, errors: readonly NameCountError[]): Promise<void> {
  for (let from = 0; from < errors.length; from += ROWS_PER_STATEMENT) {
    const values = errors.slice(from, from + ROWS_PER_STATEMENT).map((error) => ({ ...error, slot: 0 }));
    await db
      .insertInto("library_name_count")
      .values(values)
      .onConflict((conflict) =>
        conflict.columns(["group_uid", "gram", "ecosystem", "remediated", "slot"]).doUpdateSet({
          below: sql`library_name_count.below + excluded.below`,
          direct: sql`library_name_count.direct + excluded.direct`,
        }),
      )
      .execute();
  }
}
