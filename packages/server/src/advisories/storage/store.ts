/**
 * Stores advisories and everything derived from them, many at a time. Only this file writes their tables. The caller
 * holds the locks of existing rows.
 */
import { sql } from "kysely";
import type { WriteDb } from "../../db/store.ts";
import { appendToAdvisoryCounts, type CountChange } from "./count.ts";
import type { DerivedAdvisory } from "./derive.ts";
import { deleteOtherLinks, insertRows, type Link, type LinkTable } from "./insert-rows.ts";
import { requestMatching } from "./match-requests.ts";
import { firstSuffixOf, suffixesOf } from "./search-terms.ts";

export interface AdvisoryChange {
  /** The stored row; undefined for a new advisory. */
  readonly before: CountChange["before"];
  /** Deleted if its delete time is set. */
  readonly after: DerivedAdvisory;
}

/**
 * Call in the caller's transaction, with each advisory once.
 * @throws ConstraintError if a group would have two advisories with the same `about`
 */
export async function storeAdvisories(db: WriteDb, changes: readonly AdvisoryChange[]): Promise<void> {
  const rows = changes.map(({ after }) => after.row);
  const known = changes.flatMap(({ before }) => before?.uid ?? []);
  // A plain insert for new rows: on SQLite, an upsert costs as much as the transaction has changed pages.
  const isNew = (_: unknown, i: number) => changes[i]?.before === undefined;
  await insertRows(db, "advisory", "new", rows.filter(isNew));
  await insertRows(
    db,
    "advisory",
    ["uid"],
    rows.filter((_, i) => !isNew(_, i)),
  );
  const aliases = linksOf(changes, "alias", (advisory) => advisory.aliases);
  await storeLinks(db, { table: "advisory_alias", column: "alias" }, known, aliases);
  const terms = linksOf(changes, "term", (advisory) => advisory.terms);
  await storeLinks(db, { table: "advisory_term", column: "term" }, known, terms);
  await storeSuffixes(db, [...new Set(terms.map(({ term }) => term))]);
  await appendToAdvisoryCounts(
    db,
    changes.map(({ before }, i) => ({ before, after: rows[i] })),
  );
  await requestMatching(db, rows);
}

function linksOf<Column extends string>(
  changes: readonly AdvisoryChange[],
  column: Column,
  stringsOf: (advisory: DerivedAdvisory) => readonly string[],
): Link<Column>[] {
  return changes.flatMap(({ after }) =>
    stringsOf(after).map((value) => ({ [column]: value, advisory_uid: after.row.uid }) as Link<Column>),
  );
}

/** @param known uids of the advisories that may have links already */
async function storeLinks<Column extends "alias" | "term">(
  db: WriteDb,
  target: LinkTable<Column>,
  known: readonly string[],
  links: readonly Link<Column>[],
): Promise<void> {
  if (known.length > 0) await deleteOtherLinks(db, target, known, links);
  await insertRows(db, target.table, [], links);
}

/** Inserts the suffixes of terms that are new. The order is fixed, which prevents deadlocks. */
async function storeSuffixes(db: WriteDb, terms: readonly string[]): Promise<void> {
  const firsts = terms.map((term) => ({ suffix: firstSuffixOf(term), term }));
  const wanted = db.dialect.rowsOf(firsts, { suffix: "text", term: "text" });
  const { rows } = await sql<{ term: string }>`select w.term from ${wanted} as w
    where not exists (select 1 from advisory_suffix s where s.suffix = w.suffix and s.term = w.term)`.execute(db);
  const suffixes = rows.flatMap(({ term }) => suffixesOf(term).map((suffix) => ({ suffix, term })));
  await insertRows(
    db,
    "advisory_suffix",
    [],
    suffixes.toSorted((a, b) => (a.suffix < b.suffix || (a.suffix === b.suffix && a.term < b.term) ? -1 : 1)),
  );
}
