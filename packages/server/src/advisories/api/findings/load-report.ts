/** Loads everything that version 1 shows of the open vulnerabilities of an image. */
import type { ReadDb } from "../../../db/store.ts";
import { readLocations, readRecords } from "../../findings/locations.ts";
import { readReport } from "../../findings/report.ts";
import type { ReportData } from "./report-json.ts";

/** Undefined if the repo does not have the image, or if there is nothing to read in it. */
export async function loadReport(db: ReadDb, repoUid: string, digest: string): Promise<ReportData | undefined> {
  const report = await readReport(db, repoUid, digest);
  if (report === undefined || report.state.time === undefined) return undefined;
  const findings = report.findings.filter(({ detail }) => detail.suppression === undefined);
  const records = await readRecords(
    db,
    findings.map(({ vulnerability }) => vulnerability),
  );
  const time = [report.state.time, ...findings.map(({ openTime }) => openTime)].reduce((a, b) => (a > b ? a : b));
  return { digest, time, findings, records, locationsOf: await readLocations(db, findings) };
}
