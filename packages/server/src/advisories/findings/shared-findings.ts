/** Lists the findings in all images below a group or in a repo, by package. */
import { type RawBuilder, sql } from "kysely";
import { and } from "../../api/resource/conditions.ts";
import type { ReadDb } from "../../db/store.ts";
import { rangeAtOrBelow, rootOf } from "../../lib/uid.ts";
import type { FindingDetail, SeverityNumber } from "./finding.ts";

/** Images of a finding that are counted. */
const MAX_COUNTED = 1000;

/** The position of a finding: the columns of its package, then the vulnerability. */
export type SharedKey = readonly [name: string, version: string, type: string, origin: string, distribution: string, vulnerability: string];

export interface SharedQuery {
  /** Uid of a group or a repo. */
  readonly uid: string;
  readonly severities: readonly number[];
  /** Undefined for both. */
  readonly isSuppressed: boolean | undefined;
  readonly vulnerabilities: readonly string[];
  readonly names: readonly string[];
  readonly isFixable: boolean;
  readonly after: SharedKey | undefined;
  readonly limit: number;
}

export interface SharedFinding {
  readonly type: string;
  readonly name: string;
  readonly version: string;
  readonly origin: string;
  readonly distribution: string;
  readonly vulnerability: string;
  readonly severity: SeverityNumber;
  readonly openTime: string;
  readonly detail: FindingDetail;
  readonly imageCount: number;
}

export function keyOfShared({ name, version, type, origin, distribution, vulnerability }: SharedFinding): SharedKey {
  return [name, version, type, origin, distribution, vulnerability];
}

type SharedRow = Omit<SharedFinding, "detail" | "openTime" | "imageCount"> & {
  readonly detail: string;
  readonly open_time: string;
  readonly images: number;
};

export async function listSharedFindings(db: ReadDb, query: SharedQuery): Promise<SharedFinding[]> {
  const { lower, upper } = rangeAtOrBelow(query.uid);
  const isBelow = sql<boolean>`exists (select 1 from manifest as m where m.digest = i.digest and m.repo_uid >= ${lower} and m.repo_uid < ${upper})`;
  const images = sql`from matched_image_package as l join matched_image as i on i.id = l.image_id where l.package_id = p.id and ${isBelow}`;
  const { rows } = await sql<SharedRow>`
    select p.type, p.name, p.version, p.origin, p.distribution, f.vulnerability, f.severity, f.open_time, f.detail,
      (select count(*) from (select 1 ${images} limit ${MAX_COUNTED}) as counted) as images
    from matched_package as p join finding as f on f.package_id = p.id
    where p.org_uid = ${rootOf(query.uid)} and f.close_time is null and ${and(conditionsOf(db, query))} and exists (select 1 ${images})
    order by p.name, p.version, p.type, p.origin, p.distribution, f.vulnerability limit ${query.limit}`.execute(db);
  return rows.map(({ detail, open_time, images: count, severity, ...row }) => ({
    ...row,
    severity: Number(severity) as SeverityNumber,
    openTime: open_time,
    detail: JSON.parse(detail) as FindingDetail,
    imageCount: Number(count),
  }));
}

function conditionsOf(
  db: ReadDb,
  { severities, isSuppressed, vulnerabilities, names, isFixable, after }: SharedQuery,
): RawBuilder<boolean>[] {
  const among = (column: string, values: readonly string[]) =>
    values.length === 0 ? [] : [sql<boolean>`${sql.ref(column)} in (select v.value from ${db.dialect.valuesOf(values)} as v)`];
  return [
    ...(severities.length === 0 ? [] : [sql<boolean>`f.severity in (${sql.join(severities)})`]),
    ...(isSuppressed === undefined ? [] : [sql<boolean>`f.is_suppressed = ${isSuppressed ? 1 : 0}`]),
    ...among("f.vulnerability", vulnerabilities),
    ...among("p.name", names),
    ...(isFixable ? [sql<boolean>`f.detail like '%"fixState":"fixed"%'`] : []),
    ...(after === undefined
      ? []
      : [
          sql<boolean>`p.name >= ${after[0]}`,
          sql<boolean>`(p.name, p.version, p.type, p.origin, p.distribution, f.vulnerability) > (${sql.join(after)})`,
        ]),
  ];
}
