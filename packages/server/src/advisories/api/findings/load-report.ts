/** Loads everything that version 1 shows of the open vulnerabilities of an image, up to a limit of bytes. */

import { MAX_WHOLE_LIST_BYTES } from "../../../api/v1/collected-rows.ts";
import type { ReadDb } from "../../../db/store.ts";
import { createBreaks } from "../../../jobs/breaks.ts";
import { resourceExhausted } from "../../../lib/errors.ts";
import { readLocations, readRecords, type VulnerabilityRecord } from "../../findings/locations.ts";
import { readReport } from "../../findings/report.ts";
import type { ReportData } from "./report-json.ts";

interface LoadedImage {
  readonly repoUid: string;
  readonly digest: string;
  /** Whether the answer shows the details of records. */
  readonly showsDetails: boolean;
  /** Bytes of the rest of the answer. */
  readonly left?: number;
}

/**
 * Undefined if the repo does not have the image, or if there is nothing to read in it.
 * @throws RESOURCE_EXHAUSTED if the report has more bytes than are left
 */
export async function loadReport(
  db: ReadDb,
  { repoUid, digest, showsDetails, left = MAX_WHOLE_LIST_BYTES }: LoadedImage,
): Promise<ReportData | undefined> {
  const report = await readReport(db, repoUid, digest);
  if (report === undefined || report.state.time === undefined) return undefined;
  const findings = report.findings.filter(({ detail }) => detail.suppression === undefined);
  const ids = findings.map(({ vulnerability }) => vulnerability);
  const records = await readRecords(db, ids, limitBytes(MAX_WHOLE_LIST_BYTES));
  // A report shows each package at least once, so it is refused before all of them are read.
  const locationsOf = await readLocations(db, findings, limitBytes(left));
  const charge = limitBytes(left);
  const pause = createBreaks();
  let bytes = 0;
  for (const finding of findings) {
    const record = bytesOfRecord(records.get(finding.vulnerability), showsDetails);
    bytes = charge(Buffer.byteLength(JSON.stringify(finding.detail)) + record + locationsOf(finding).bytes);
    await pause();
  }
  const time = [report.state.time, ...findings.map(({ openTime }) => openTime)].reduce((a, b) => (a > b ? a : b));
  return { digest, time, findings, records, locationsOf, bytes };
}

function bytesOfRecord(record: VulnerabilityRecord | undefined, showsDetails: boolean): number {
  if (record === undefined) return 0;
  return showsDetails ? record.bytes : record.bytes - Buffer.byteLength(record.details);
}

/** The returned function adds bytes to a sum, which it returns. */
function limitBytes(limit: number): (bytes: number) => number {
  let sum = 0;
  return (bytes) => {
    sum += bytes;
    if (sum <= limit) return sum;
    throw resourceExhausted(
      `these reports have more than ${MAX_WHOLE_LIST_BYTES / 1024 / 1024} MiB; request one digest, or list them by holt.v1 VulnerabilitiesService`,
    );
  };
}
