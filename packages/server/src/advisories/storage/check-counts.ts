/** Counts the advisories again by kinds and people, and compares the result with the maintained counts. */
import { sql } from "kysely";
import type { CountCheck } from "../../db/count-check.ts";
import type { ResourceCount } from "../../db/resource-count.ts";
import type { ReadDb } from "../../db/store.ts";
import {
  addToSum,
  addToSums,
  appendSums,
  COUNTED_COLUMNS,
  COUNTS,
  type Count,
  type CountedRow,
  type CountSums,
  isChange,
  PEOPLE_COLUMNS,
} from "./count.ts";

const ROWS_PER_PAGE = 5000;

/** @param db a snapshot: advisories and counts must be of the same moment */
export async function checkAdvisoryCounts(db: ReadDb): Promise<CountCheck> {
  const errors = COUNTS.map((count) => ({ count, sums: new Map() as CountSums }));
  for await (const page of advisories(db))
    for (const { count, sums } of errors)
      addToSums(
        sums,
        page.map((row) => ({ row, delta: 1 })),
        count,
      );
  for (const { count, sums } of errors) await subtractStored(db, sums, count);
  return {
    wrong: errors.reduce((wrong, { sums }) => wrong + [...sums].filter(isChange).length, 0),
    // Adds the differences, so that changes since the check keep their effect.
    async repair(write) {
      for (const { count, sums } of errors) await appendSums(write, sums, count);
    },
  };
}

async function* advisories(db: ReadDb): AsyncGenerator<readonly CountedRow[]> {
  for (let after = ""; ; ) {
    const page = await db
      .selectFrom("advisory")
      .select(["uid", "delete_time", ...COUNTED_COLUMNS, ...PEOPLE_COLUMNS])
      .where("uid", ">", after)
      .where("delete_time", "is", null)
      .orderBy("uid")
      .limit(ROWS_PER_PAGE)
      .execute();
    yield page;
    const last = page.at(-1);
    if (last === undefined || page.length < ROWS_PER_PAGE) return;
    after = last.uid;
  }
}

async function subtractStored(db: ReadDb, sums: CountSums, { table, keyColumns }: Count): Promise<void> {
  const columns = ["group_uid", ...keyColumns];
  const key = sql.join(columns.map((column) => sql.ref(column)));
  const { rows } = await sql<ResourceCount & Record<string, string | number>>`select ${key},
    cast(sum(below) as bigint) as below, cast(sum(direct) as bigint) as direct from ${sql.table(table)} group by ${key}`.execute(db);
  for (const row of rows) {
    const values = columns.map((column) => row[column] as string | number);
    addToSum(sums, values, { below: -Number(row.below), direct: -Number(row.direct) });
  }
}
