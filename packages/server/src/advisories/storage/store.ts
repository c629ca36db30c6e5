/** Stores advisories with all that is derived of them, many at a time: the only place that writes their tables. Whoever calls has locked what is there already. */
import { sql } from "kysely";
import type { WriteDb } from "../../db/store.ts";
import { appendToAdvisoryCounts, type CountChange } from "./count.ts";
import type { DerivedAdvisory } from "./derive.ts";
import { insertRows, keepOnly } from "./insert-rows.ts";
import { firstSuffixOf, suffixesOf } from "./search-terms.ts";

export interface AdvisoryChange {
  /** As it is stored; undefined for a new one. */
  readonly before: CountChange["before"];
  /** With the time of its deletion set it is deleted. */
  readonly after: DerivedAdvisory;
}

/** In the caller's transaction. Each advisory once. @throws ConstraintError where a group would have two advisories about the same */
export async function storeAdvisories(db: WriteDb, changes: readonly AdvisoryChange[]): Promise<void> {
  const rows = changes.map(({ after }) => after.row);
  const known = changes.flatMap(({ before }) => before?.uid ?? []);
  // What is new is no replacement: on SQLite, one that might be takes as long as the transaction has changed pages.
  const isNew = (_: unknown, i: number) => changes[i]?.before === undefined;
  await insertRows(db, "advisory", "new", rows.filter(isNew));
  await insertRows(
    db,
    "advisory",
    ["uid"],
    rows.filter((_, i) => !isNew(_, i)),
  );
  await storeLinks(
    db,
    "advisory_alias",
    "alias",
    known,
    linksOf(changes, "alias", ({ aliases }) => aliases),
  );
  const terms = linksOf(changes, "term", ({ terms }) => terms);
  await storeLinks(db, "advisory_term", "term", known, terms);
  await storeSuffixes(db, [...new Set(terms.map(({ term }) => term))]);
  await appendToAdvisoryCounts(
    db,
    changes.map(({ before }, i) => ({ before, after: rows[i] })),
  );
}

type Link<Column extends string> = { readonly [name in Column | "advisory_uid"]: string };

function linksOf<Column extends string>(
  changes: readonly AdvisoryChange[],
  column: Column,
  textsOf: (advisory: DerivedAdvisory) => readonly string[],
): Link<Column>[] {
  return changes.flatMap(({ after }) => textsOf(after).map((text) => ({ [column]: text, advisory_uid: after.row.uid }) as Link<Column>));
}

async function storeLinks<Column extends "alias" | "term">(
  db: WriteDb,
  table: "advisory_alias" | "advisory_term",
  column: Column,
  known: readonly string[],
  links: readonly Link<Column>[],
): Promise<void> {
  if (known.length > 0) await keepOnly(db, table, column, known, links);
  await insertRows(db, table, [], links);
}

/** Of terms that no advisory had before. In order, as all do it, so that nobody waits in a circle. */
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
