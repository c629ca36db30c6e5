/** Reads the open findings of the packages of manifests. */
import { sql } from "kysely";
import type { ReadDb } from "../../db/store.ts";
import { resourceExhausted } from "../../lib/errors.ts";
import type { Finding, FindingDetail, SeverityNumber } from "./finding.ts";

/** Findings per report. */
export const MAX_FINDINGS = 20_000;

/** A finding in a package of a manifest. */
export interface ImageFinding extends Finding {
  readonly digest: string;
  readonly type: string;
  readonly name: string;
  readonly version: string;
  readonly origin: string;
  readonly matchName: string;
  readonly matchOrigin: string;
  /** Since when it is known. */
  readonly openTime: string;
  /** Until when it held; undefined if it holds. */
  readonly closeTime: string | undefined;
}

interface FindingRow extends Omit<ImageFinding, "detail" | "matchName" | "matchOrigin" | "openTime" | "closeTime"> {
  readonly match_name: string;
  readonly match_origin: string;
  readonly open_time: string;
  readonly close_time: string | null;
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

/** The findings of these manifests. @throws RESOURCE_EXHAUSTED if there are more than MAX_FINDINGS */
export async function readImageFindings(db: ReadDb, query: FindingQuery): Promise<ImageFinding[]> {
  const { orgUid, digests, since, minSeverity = 0 } = query;
  const wanted = db.dialect.valuesOf([...new Set(digests)]);
  const isWanted = since === undefined ? sql`f.close_time is null` : sql`(f.close_time is null or f.close_time > ${since})`;
  const { rows } = await sql<FindingRow>`
    select i.digest, p.type, p.name, p.version, p.origin, p.match_name, p.match_origin, f.vulnerability, f.open_time, f.close_time, f.severity, f.detail
    from ${wanted} as v cross join matched_image as i cross join matched_image_package as l cross join finding as f
      cross join matched_package as p
    where i.digest = v.value and i.org_uid = ${orgUid} and l.image_id = i.id and f.package_id = l.package_id and ${isWanted} and f.severity >= ${minSeverity}
      and p.id = l.package_id limit ${MAX_FINDINGS + 1}`.execute(db);
  if (rows.length > MAX_FINDINGS) throw resourceExhausted(`the image has more than ${MAX_FINDINGS} findings; request one of its platforms`);
  return rows.map(({ match_name, match_origin, open_time, close_time, detail, severity, ...row }) => ({
    ...row,
    severity: Number(severity) as SeverityNumber,
    matchName: match_name,
    matchOrigin: match_origin,
    openTime: open_time,
    closeTime: close_time ?? undefined,
    detail: JSON.parse(detail) as FindingDetail,
  }));
}

export interface MatchState {
  /** Whether nothing waits to be read or compared. */
  readonly isCurrent: boolean;
  /** The last time at which packages were read; undefined if none were. */
  readonly time: string | undefined;
}

/** The progress of the manifests whose packages were or are to be read. */
export async function readMatchState(db: ReadDb, orgUid: string, digests: readonly string[]): Promise<MatchState> {
  const wanted = db.dialect.valuesOf([...new Set(digests)]);
  const { rows } = await sql<{ state: string; match_time: string | null; waits: number }>`
    select s.state, i.match_time, case when r.name is not null or exists (
        select 1 from matched_image_package as l join matched_package as p on p.id = l.package_id
        where l.image_id = i.id and p.is_matched = 0) then 1 else 0 end as waits
    from ${wanted} as v join image_scan as s on s.digest = v.value
      left join matched_image as i on i.digest = s.digest and i.org_uid = ${orgUid}
      left join match_request as r on r.org_uid = ${orgUid} and r.kind = 'image' and r.name = s.digest`.execute(db);
  const times = rows.flatMap(({ match_time }) => match_time ?? []).sort();
  const isCurrent = rows.every(({ state, match_time, waits }) => state !== "pending" && match_time !== null && Number(waits) === 0);
  return { isCurrent, time: times.at(-1) };
}
