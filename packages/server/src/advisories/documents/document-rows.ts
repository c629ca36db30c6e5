/** Which advisories the published documents have: live, approved and of a public organization, each with the package that it is built from. */
import { type RawBuilder, sql } from "kysely";
import type { ReadDb } from "../../db/store.ts";
import { rangeBelow } from "../../lib/uid.ts";
import type { Publication } from "./publication.ts";

export interface DocumentFilter {
  /** An origin package; the empty string for any. */
  readonly id: string;
  /** Aliases or ids of advisories, of which one has to match; none for any. */
  readonly cves: readonly string[];
}

export interface DocumentRow {
  readonly uid: string;
  readonly parent: string;
  readonly advisory_id: string;
  readonly origin: string;
  /** Name of its group. */
  readonly namespace: string;
  /** 1 where it is one of those that the filter names, and not only of the same advisory id. */
  readonly matched: number;
}

/** Up to `limit`, in no order; where there are so many, they are not all. Advisories of one id, group and origin come together or not at all, so that a filter does not change what is said of them. */
export async function readDocumentRows(
  filter: DocumentFilter,
  limit: number,
  publication: Publication,
  db: ReadDb,
): Promise<DocumentRow[]> {
  const { id, cves } = filter;
  // PostgreSQL knows no NUL in a text, so nothing has one.
  const wanted = cves.filter((cve) => !cve.includes("\0"));
  if (id.includes("\0") || (cves.length > 0 && wanted.length === 0)) return [];
  const within = await publication.within(db);
  const conditions = [
    sql`a.delete_time is null and a.latest_type <> 0`,
    isWithin(within, "a.uid", db),
    ...(id === "" ? [] : [isOfOrigin(id, await publication.groups(db), db)]),
    ...(cves.length === 0 ? [] : [sql`a.advisory_id in (select x.advisory_id from advisory as x join matched as m on m.uid = x.uid)`]),
    ...(id === "" && cves.length === 0 ? [sql`a.uid in (${approved(within, db)})`] : []),
  ];
  const matched = cves.length === 0 ? sql`1` : sql`case when exists (select 1 from matched as m where m.uid = a.uid) then 1 else 0 end`;
  const { rows } = await sql<DocumentRow>`${cves.length === 0 ? sql`` : sql`with matched as materialized (${uidsOf(wanted, db)})`}
    select a.uid, a.parent, a.advisory_id, coalesce(o.origin, a.artifact_name) as origin, g.name as namespace, ${matched} as matched
    from advisory as a join "group" as g on g.uid = a.parent
    left join package_origin as o on o.org_uid = substr(a.uid, 1, 40) and o.type = a.artifact_type and o.name = a.artifact_name
    where ${sql.join(conditions, sql` and `)} limit ${limit}`.execute(db);
  // There may be more, of which some belong to these.
  if (rows.length === limit) return rows;
  const keys = new Set(rows.filter((row) => row.matched === 1).map(keyOf));
  return rows.filter((row) => keys.has(keyOf(row)));
}

/** What advisories have in common that are one in a document. */
export function keyOf({ origin, advisory_id, parent }: DocumentRow): string {
  return JSON.stringify([origin, advisory_id, parent]);
}

function uidsOf(cves: readonly string[], { dialect }: ReadDb): RawBuilder<unknown> {
  const wanted = dialect.valuesOf(cves);
  return sql`select l.advisory_uid as uid from ${wanted} as v join advisory_alias as l on l.alias = v.value
    union select b.uid from ${wanted} as v join advisory as b on b.advisory_id = v.value and b.delete_time is null`;
}

/** All of them, from an index that has no more in it than this looks at. */
function approved(roots: readonly string[] | "all", db: ReadDb): RawBuilder<unknown> {
  return sql`select f.uid from advisory as f where f.delete_time is null and f.latest_type <> 0 and ${isWithin(roots, "f.uid", db)}`;
}

/** Unindexed: other conditions find fewer rows. */
function isWithin(roots: readonly string[] | "all", column: string, { dialect }: ReadDb): RawBuilder<unknown> {
  if (roots === "all") return sql`1 = 1`;
  if (roots.length === 0) return sql`1 = 0`;
  const uid = dialect.unindexed(column);
  const ranges = roots.map(rangeBelow).map(({ lower, upper }) => sql`(${uid} >= ${lower} and ${uid} < ${upper})`);
  return sql`(${sql.join(ranges, sql` or `)})`;
}

/** Packages built from it, as images say, and the one of its name. */
function isOfOrigin(origin: string, roots: readonly string[], { dialect }: ReadDb): RawBuilder<unknown> {
  const built = sql`select p.name from ${dialect.valuesOf(roots)} as v join package_origin as p on p.org_uid = v.value and p.origin = ${origin}`;
  const named = sql`select n.value from ${dialect.valuesOf([origin])} as n`;
  return sql`a.artifact_name in (${built} union ${named}) and coalesce(o.origin, a.artifact_name) = ${origin}`;
}
