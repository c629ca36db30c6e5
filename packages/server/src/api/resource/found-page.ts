/**
 * Reads a page and counts all rows of its list in one statement, for lists of few rows: each row is found and tested once, and then
 * counted and sorted.
 */
import { sql } from "kysely";
import type { ReadDb } from "../../db/store.ts";
import { afterCursor, and, seekCondition, source } from "./conditions.ts";
import type { CutPage } from "./page-bytes.ts";
import { bodyOf, completePage, cut, type FoundRow, type Row, select } from "./read-rows.ts";
import type { Selection } from "./selection.ts";

export interface FoundPage extends CutPage<Row> {
  /** Rows over all pages. */
  readonly total: number;
}

const FORWARD = { backward: false };

/** The page is shorter than the selection's limit if its bodies are large. */
export async function readFoundPage(selection: Selection, db: ReadDb): Promise<FoundPage> {
  const { skip: offset, limit } = selection;
  const { dialect } = db;
  const found = select(selection, source(selection, dialect), seekCondition(selection, dialect), false);
  // Materialized, so that the planner cannot find the rows twice.
  const { rows: read } = await sql<CountedRow>`with found as materialized (${found}),
    page as materialized (select uid, key from found where ${and(afterCursor(selection, "key"))} ${cut(selection, FORWARD, offset, limit + 1)})
    select counted.total, page.uid, page.key, ${bodyOf("t.body")} from (select cast(count(*) as bigint) as total from found) as counted
    left join page on 1 = 1 left join ${sql.table(selection.resource.table)} as t on t.uid = page.uid
    order by page.key ${sql.raw(selection.order.descending ? "desc" : "asc")}, page.uid`.execute(db);
  const rows = read.filter((row): row is FoundRow & CountedRow => row.uid !== null);
  const page = await completePage(rows, selection, db);
  // A row was deleted in between.
  return page === undefined ? readFoundPage(selection, db) : { ...page, total: Number(read[0]?.total ?? 0) };
}

/** The only row of an empty page has the total and null in all other columns. */
interface CountedRow extends Omit<FoundRow, "uid"> {
  readonly total: number;
  readonly uid: string | null;
}
