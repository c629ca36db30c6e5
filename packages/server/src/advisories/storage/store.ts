/**
 * Stores advisories and everything derived from them, many at a time. Only this file writes their tables. The caller
 * holds the locks of existing rows.
 */
import { sql } from "kysely";
import type { WriteDb } from "../../db/store.ts";
import type { AdvisoryTable } from "../tables.ts";
import { appendToAdvisoryCounts } from "./count.ts";
import type { DerivedAdvisory } from "./derive.ts";
import { deleteOtherLinks, insertRows, type Link, type LinkTable } from "./insert-rows.ts";
import { requestMatching } from "./match-requests.ts";
import { MAX_SUFFIX } from "./search-terms.ts";

export interface AdvisoryChange {
  /** The stored row; undefined for a new advisory. */
  readonly before: AdvisoryTable | undefined;
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
  // An update may name another artifact, so that the former one is no longer affected.
  await requestMatching(db, [...changes.flatMap(({ before }) => before ?? []), ...rows]);
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

/** Inserts the suffixes of terms that are new. The database cuts the terms, which takes it half the time of binding each suffix. */
async function storeSuffixes(db: WriteDb, terms: readonly string[]): Promise<void> {
  const isStored = sql`exists (select 1 from advisory_suffix s where s.suffix = substr(w.value, 1, ${MAX_SUFFIX}) and s.term = w.value)`;
  const { rows } = await sql<{
    term: string;
  }>`select w.value as term from ${db.dialect.valuesOf(terms)} as w where not ${isStored}`.execute(db);
  for (const { some, starts } of byLength(rows.map(({ term }) => term))) {
    // Similar terms have similar suffixes at the same character, so neighbors in the index are inserted one after the other.
    await sql`insert into advisory_suffix (suffix, term)
      select substr(t.value, cast(n.start as integer), ${MAX_SUFFIX}), t.value
      from ${db.dialect.rowsOf(starts, { start: "bigint" })} as n cross join ${db.dialect.valuesOf(some)} as t
      where n.start <= length(t.value) ${db.dialect.insertOrder(2)} on conflict do nothing`.execute(db);
  }
}

/** Terms of similar length, sorted, with the characters at which their suffixes start. */
function byLength(
  terms: readonly string[],
): { readonly some: readonly string[]; readonly starts: readonly { readonly start: number }[] }[] {
  const groups = Map.groupBy(terms, ({ length }) => 2 ** Math.ceil(Math.log2(length)));
  return [...groups].map(([length, some]) => ({ some: some.toSorted(), starts: Array.from({ length }, (_, at) => ({ start: at + 1 })) }));
}
