/** Reads the stored findings of manifests in pages. */
import { type RawBuilder, sql } from "kysely";
import type { ReadDb } from "../../db/store.ts";
import { SEVERITY, type SeverityNumber } from "./finding.ts";

export interface FindingRow {
  readonly digest: string;
  readonly image_id: number;
  readonly package_id: number;
  readonly type: string;
  readonly name: string;
  readonly version: string;
  readonly origin: string;
  readonly match_name: string;
  readonly match_origin: string;
  readonly vulnerability: string;
  readonly open_time: string;
  readonly close_time: string | null;
  readonly severity: number;
  /** JSON of a FindingDetail. */
  readonly detail: string;
}

export interface FindingQuery {
  readonly orgUid: string;
  /** Digests of the manifests that name the packages. */
  readonly digests: readonly string[];
  /** Also those that were closed after this time, in the format of time columns. */
  readonly since?: string;
  readonly minSeverity?: SeverityNumber;
}

/** A row has up to 20 KB. */
const ROWS_PER_PAGE = 500;

/** Few findings of all manifests are one page. Otherwise each manifest has pages of its own, in the order of the primary keys. */
export async function* readFindingPages(db: ReadDb, query: FindingQuery): AsyncGenerator<readonly FindingRow[]> {
  const images = await readImages(db, query);
  const named = (rows: readonly Omit<FindingRow, "digest">[]) => rows.map((row) => ({ ...row, digest: images.get(row.image_id) ?? "" }));
  if (images.size > 1) {
    const ids = db.dialect.rowsOf(
      [...images.keys()].map((id) => ({ id })),
      { id: "bigint" },
    );
    const all = await readRows(db, query, sql`l.image_id in (select w.id from ${ids} as w)`);
    if (all.length <= ROWS_PER_PAGE) return yield named(all);
  }
  for (const id of images.keys()) {
    for (let after: Position | undefined = FIRST; after !== undefined; ) {
      const rows = await readRows(db, query, sql`l.image_id = ${id} and ${isAfter(after)}`);
      const page = rows.slice(0, ROWS_PER_PAGE);
      yield named(page);
      after = rows.length > ROWS_PER_PAGE ? page.at(-1) : undefined;
    }
  }
}

/** Digests of the manifests by their ids. */
async function readImages(db: ReadDb, { orgUid, digests }: FindingQuery): Promise<ReadonlyMap<number, string>> {
  const wanted = db.dialect.valuesOf([...new Set(digests)]);
  const { rows } = await sql<{ id: number; digest: string }>`select i.id, i.digest from ${wanted} as v cross join matched_image as i
    where i.digest = v.value and i.org_uid = ${orgUid} order by i.id`.execute(db);
  return new Map(rows.map(({ id, digest }) => [id, digest]));
}

type Position = Pick<FindingRow, "package_id" | "vulnerability" | "open_time">;
const FIRST: Position = { package_id: 0, vulnerability: "", open_time: "" };

function isAfter({ package_id, vulnerability, open_time }: Position): RawBuilder<boolean> {
  return sql<boolean>`l.package_id >= ${package_id}
    and (l.package_id > ${package_id} or (f.vulnerability, f.open_time) > (${vulnerability}, ${open_time}))`;
}

/** One row more than a page. */
async function readRows(
  db: ReadDb,
  { since, minSeverity = SEVERITY.unknown }: FindingQuery,
  isOfPage: RawBuilder<unknown>,
): Promise<readonly Omit<FindingRow, "digest">[]> {
  const isWanted = since === undefined ? sql`f.close_time is null` : sql`(f.close_time is null or f.close_time > ${since})`;
  const { rows } = await sql<Omit<FindingRow, "digest">>`
    select l.image_id, l.package_id, p.type, p.name, p.version, p.origin, p.match_name, p.match_origin,
      f.vulnerability, f.open_time, f.close_time, f.severity, f.detail
    from matched_image_package as l cross join finding as f cross join matched_package as p
    where ${isOfPage} and f.package_id = l.package_id and ${isWanted} and f.severity >= ${minSeverity} and p.id = l.package_id
    order by l.image_id, l.package_id, f.vulnerability, f.open_time limit ${ROWS_PER_PAGE + 1}`.execute(db);
  return rows;
}
