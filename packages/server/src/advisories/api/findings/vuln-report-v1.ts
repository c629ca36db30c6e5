/** GetVulnReport of the registry service in version 1: the report of one image, as messages of tenant.v1. */
import { create } from "@bufbuild/protobuf";
import { Registry } from "@holt/api/gen/platform/registry/v1/registry_pb.ts";
import {
  Fix_State as FixState,
  VulnerabilityRecord_Severity as Severity,
  type VulnerabilityMatch,
  VulnerabilityMatchSchema,
  VulnReportSchema,
} from "@holt/api/gen/platform/tenant/v1/vuln_reports_pb.ts";
import { encodeLongReply } from "../../../api/call/encode-long-reply.ts";
import { implement, read } from "../../../api/call/implement.ts";
import { isDigest } from "../../../blobs/digest.ts";
import { createBreaks, mapWithBreaks } from "../../../jobs/breaks.ts";
import { timestampFromText } from "../../../lib/clock.ts";
import { notFound } from "../../../lib/errors.ts";
import type { FixState as FoundState } from "../../findings/finding.ts";
import type { ReportedFinding } from "../../findings/report.ts";
import { loadReport } from "./load-report.ts";
import { type ReportData, rawReport, versionOf } from "./report-json.ts";

export const vulnReportServiceV1 = implement(Registry, {
  getVulnReport: read(async ({ repoId, digest }, { db, metadata }) => {
    const data = isDigest(digest) ? await loadReport(db, { repoUid: repoId, digest, showsDetails: false }) : undefined;
    if (data === undefined) throw notFound("VulnReport", digest.slice(0, 200));
    const time = timestampFromText(data.time);
    const report = create(VulnReportSchema, {
      id: digest,
      vulnerabilityDbLastBuildTime: time,
      vulnerabilityMatches: await mapWithBreaks(data.findings, (finding) => matchOf(finding, data), createBreaks()),
      scanner: { name: "holt" },
      reportGeneration: time,
      rawVulnReport: Buffer.from(await rawReport(data)),
      lastSeen: time,
    });
    return encodeLongReply(VulnReportSchema, report, metadata);
  }),
});

/** By number of the severity. This message has no negligible one. */
const severities = [
  Severity.UNKNOWN,
  Severity.UNKNOWN,
  Severity.LOW,
  Severity.LOW,
  Severity.MEDIUM,
  Severity.HIGH,
  Severity.CRITICAL,
] as const;

const fixStates: Readonly<Record<FoundState, FixState>> = {
  unknown: FixState.UNKNOWN,
  fixed: FixState.FIXED,
  not_fixed: FixState.NOT_FIXED,
  wont_fix: FixState.WONT_FIX,
};

function matchOf(finding: ReportedFinding, { records, locationsOf }: ReportData): VulnerabilityMatch {
  const { vulnerability: id, detail, severity, name, version } = finding;
  const record = records.get(id);
  const purl = locationsOf(finding).purls[0] ?? "";
  return create(VulnerabilityMatchSchema, {
    vulnerability: {
      id,
      description: record?.summary ?? "",
      severity: severities[severity] ?? Severity.UNKNOWN,
      source: sourceOf(id),
      cvss: detail.cvss.map(({ type, score }) => ({ score, version: versionOf(type, score) })),
      relatedUrls: record?.references.map(({ url }) => url) ?? [],
      advisories: Object.fromEntries(detail.advisories.map((advisory) => [advisory.id, advisory.uid])),
      relatedVulnerabilities: detail.aliases.map((alias) => ({ id: alias, source: sourceOf(alias) })),
      displayId: id,
    },
    pkg: { id: purl, name, version, purl },
    fix: { versions: [...detail.fixed], state: fixStates[detail.fixState] },
  });
}

/** The database of an id, by its prefix: `CVE`, `GHSA`. */
function sourceOf(id: string): string {
  return id.split("-", 1)[0] ?? "";
}
