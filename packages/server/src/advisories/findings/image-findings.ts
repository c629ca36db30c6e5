/** Reads the open findings of the packages of manifests. */
import { sql } from "kysely";
import type { ReadDb } from "../../db/store.ts";
import { createBreaks } from "../../jobs/breaks.ts";
import { resourceExhausted } from "../../lib/errors.ts";
import type { Finding, FindingDetail, SeverityNumber } from "./finding.ts";
import { type FindingQuery, type FindingRow, readFindingPages } from "./finding-pages.ts";

/** Findings per report. */
export const MAX_FINDINGS = 20_000;
/** UTF-8 bytes of the details of these findings. One detail has up to 20 KB. */
export const MAX_FINDINGS_BYTES = 16 * 1024 * 1024;

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

/**
 * The findings of these manifests. Others run between two pages of them.
 * @throws RESOURCE_EXHAUSTED if there are more than MAX_FINDINGS, or if they are larger than MAX_FINDINGS_BYTES
 */
export async function readImageFindings(db: ReadDb, query: FindingQuery): Promise<ImageFinding[]> {
  const pause = createBreaks();
  const findings: ImageFinding[] = [];
  let bytes = 0;
  for await (const page of readFindingPages(db, query)) {
    bytes += page.reduce((sum, { detail }) => sum + Buffer.byteLength(detail), 0);
    assertFits(findings.length + page.length, bytes);
    for (const row of page) findings.push(findingFrom(row));
    await pause();
  }
  return findings;
}

function assertFits(count: number, bytes: number): void {
  if (count <= MAX_FINDINGS && bytes <= MAX_FINDINGS_BYTES) return;
  const limit = count > MAX_FINDINGS ? `${MAX_FINDINGS} findings` : `${MAX_FINDINGS_BYTES / 1024 / 1024} MiB of findings`;
  throw resourceExhausted(`the image has more than ${limit}; request one of its platforms`);
}

function findingFrom({
  image_id: _,
  package_id: __,
  match_name,
  match_origin,
  open_time,
  close_time,
  detail,
  severity,
  ...row
}: FindingRow): ImageFinding {
  return {
    ...row,
    severity: Number(severity) as SeverityNumber,
    matchName: match_name,
    matchOrigin: match_origin,
    openTime: open_time,
    closeTime: close_time ?? undefined,
    detail: JSON.parse(detail) as FindingDetail,
  };
}

export interface MatchState {
  /** Whether nothing waits to be read or compared. */
  readonly isCurrent: boolean;
  /** The last time at which packages were read; undefined if none were. */
  readonly time: string | undefined;
}

/** The progress of reading and comparing the packages of these manifests. Manifests without a scan do not count. */
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
