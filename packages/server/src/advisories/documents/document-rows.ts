/**
 * Finds the advisories of the published documents: live, approved, in a public organization, each with its origin
 * package.
 */
import { type RawBuilder, sql } from "kysely";
import type { ReadDb } from "../../db/store.ts";
import { rangeBelow } from "../../lib/uid.ts";
import type { Publication } from "./publication.ts";

export interface DocumentFilter {
  /** An origin package; the empty string matches all. */
  readonly id: string;
  /** Aliases or advisory ids; an advisory must match one of them. An empty list matches all. */
  readonly cves: readonly string[];
}

export interface DocumentRow {
  readonly uid: string;
  readonly parent: string;
  readonly advisory_id: string;
  readonly origin: string;
  /** Name of the advisory's group. */
  readonly namespace: string;
  /** 1 if the filter names this advisory; 0 if it only has the same advisory id as one that the filter names. */
  readonly matched: number;
}

/**
 * At most `limit` rows, unordered; exactly `limit` rows may be incomplete. Advisories of one id, group and origin are
 * found all or not at all, so that a filter does not change the content of a document.
 */
export async function readDocumentRows(
  filter: DocumentFilter,
  limit: number,
  publication: Publication,
  db: ReadDb,
): Promise<DocumentRow[]> {
  const { id, cves } = filter;
  // PostgreSQL does not allow NUL in strings, so nothing stored contains it.
  const wanted = cves.filter((cve) => !cve.includes("\0"));
  if (id.includes("\0") || (cves.length > 0 && wanted.length === 0)) return [];
  const roots = await publication.roots(db);
  const conditions = [
    sql`a.delete_time is null and a.latest_type <> 0`,
    isWithin(roots, "a.uid", db),
    ...(id === "" ? [] : [isOfOrigin(id, await publication.organizations(db), db)]),
    ...(cves.length === 0 ? [] : [sql`a.advisory_id in (select x.advisory_id from advisory as x join matched as m on m.uid = x.uid)`]),
    ...(id === "" && cves.length === 0 ? [sql`a.uid in (${selectApproved(roots, db)})`] : []),
  ];
  const matched = cves.length === 0 ? sql`1` : sql`case when exists (select 1 from matched as m where m.uid = a.uid) then 1 else 0 end`;
  const { rows } = await sql<DocumentRow>`${cves.length === 0 ? sql`` : sql`with matched as materialized (${selectMatching(wanted, db)})`}
    select a.uid, a.parent, a.advisory_id, coalesce(o.origin, a.artifact_name) as origin, g.name as namespace, ${matched} as matched
    from advisory as a join "group" as g on g.uid = a.parent
    left join package_origin as o on o.org_uid = substr(a.uid, 1, 40) and o.type = a.artifact_type and o.name = a.artifact_name
    where ${sql.join(conditions, sql` and `)} limit ${limit}`.execute(db);
  // The result may be incomplete, so the rows cannot be filtered by key.
  if (rows.length === limit) return rows;
  const keys = new Set(rows.filter((row) => row.matched === 1).map(mergeKeyOf));
  return rows.filter((row) => keys.has(mergeKeyOf(row)));
}

/** Advisories with the same key are one entry in a document. */
export function mergeKeyOf({ origin, advisory_id, parent }: DocumentRow): string {
  return JSON.stringify([origin, advisory_id, parent]);
}

function selectMatching(cves: readonly string[], { dialect }: ReadDb): RawBuilder<unknown> {
  const wanted = dialect.valuesOf(cves);
  return sql`select l.advisory_uid as uid from ${wanted} as v join advisory_alias as l on l.alias = v.value
    union select b.uid from ${wanted} as v join advisory as b on b.advisory_id = v.value and b.delete_time is null`;
}

/** All approved advisories, from an index that contains no others. */
function selectApproved(roots: readonly string[] | "all", db: ReadDb): RawBuilder<unknown> {
  return sql`select f.uid from advisory as f where f.delete_time is null and f.latest_type <> 0 and ${isWithin(roots, "f.uid", db)}`;
}

/** Not by index: other conditions find fewer rows. */
function isWithin(roots: readonly string[] | "all", column: string, { dialect }: ReadDb): RawBuilder<unknown> {
  if (roots === "all") return sql`1 = 1`;
  if (roots.length === 0) return sql`1 = 0`;
  const uid = dialect.unindexed(column);
  const ranges = roots.map(rangeBelow).map(({ lower, upper }) => sql`(${uid} >= ${lower} and ${uid} < ${upper})`);
  return sql`(${sql.join(ranges, sql` or `)})`;
}

/**
 * The condition that the artifact is built from this origin, according to images, or has its name and no other origin.
 */
function isOfOrigin(origin: string, organizations: readonly string[], { dialect }: ReadDb): RawBuilder<unknown> {
  const built = sql`select p.name from ${dialect.valuesOf(organizations)} as v
    join package_origin as p on p.org_uid = v.value and p.origin = ${origin}`;
  const named = sql`select n.value from ${dialect.valuesOf([origin])} as n`;
  return sql`a.artifact_name in (${built} union ${named}) and coalesce(o.origin, a.artifact_name) = ${origin}`;
}
