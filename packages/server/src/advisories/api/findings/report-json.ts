/** Renders a report in the JSON of Grype, which scripts and dashboards read. */
import { createBreaks, mapWithBreaks } from "../../../jobs/breaks.ts";
import { cvss2BaseScore, cvss3BaseScore } from "../../export/cvss-score.ts";
import type { FixState } from "../../findings/finding.ts";
import type { PackageLocations, VulnerabilityRecord } from "../../findings/locations.ts";
import type { ReportedFinding } from "../../findings/report.ts";

export interface ReportData {
  readonly digest: string;
  /** Time of the comparison, in the format of time columns. */
  readonly time: string;
  /** Without suppressed ones. */
  readonly findings: readonly ReportedFinding[];
  locationsOf(finding: ReportedFinding): PackageLocations;
  /** By id of the vulnerability. */
  readonly records: ReadonlyMap<string, VulnerabilityRecord>;
  /** Bytes of the texts of all findings in a report. */
  readonly bytes: number;
}

/** By number of the severity. */
const SEVERITY_NAMES = ["Unknown", "Unknown", "Negligible", "Low", "Medium", "High", "Critical"] as const;

const fixStates: Readonly<Record<FixState, string>> = { unknown: "unknown", fixed: "fixed", not_fixed: "not-fixed", wont_fix: "wont-fix" };

export async function rawReport(data: ReportData): Promise<string> {
  const pause = createBreaks();
  const matches = (await mapWithBreaks(data.findings, (finding) => JSON.stringify(matchOf(finding, data)), pause)).join(",");
  await pause();
  const source = { type: "image", target: { manifestDigest: data.digest } };
  const descriptor = { name: "holt", version: "", timestamp: data.time };
  return `{"matches":[${matches}],"source":${JSON.stringify(source)},"descriptor":${JSON.stringify(descriptor)}}`;
}

function matchOf(finding: ReportedFinding, { locationsOf, records }: ReportData) {
  const { vulnerability: id, severity, detail, type, name, version, origin } = finding;
  const record = records.get(id);
  const located = locationsOf(finding);
  return {
    vulnerability: {
      id,
      dataSource: record?.references[0]?.url ?? "",
      namespace: "",
      severity: SEVERITY_NAMES[severity],
      urls: record?.references.map(({ url }) => url) ?? [],
      description: record?.summary ?? "",
      cvss: detail.cvss.map(({ type: cvssType, score: vector }) => ({
        version: versionOf(cvssType, vector),
        vector,
        metrics: metricsOf(cvssType, vector),
      })),
      fix: { versions: detail.fixed, state: fixStates[detail.fixState] },
      advisories: detail.advisories.map(({ id: advisory }) => ({ id: advisory, link: "" })),
    },
    relatedVulnerabilities: detail.aliases.map((alias) => ({ id: alias })),
    matchDetails: [],
    artifact: {
      name,
      version,
      type,
      locations: located.locations.map((path) => ({ path })),
      purl: located.purls[0] ?? "",
      upstreams: origin === name ? [] : [{ name: origin }],
    },
  };
}

function metricsOf(type: string, vector: string): object {
  if (type === "TYPE_CVSS_V3") return { baseScore: cvss3BaseScore(vector) };
  return type === "TYPE_CVSS_V2" ? { baseScore: cvss2BaseScore(vector) } : {};
}

/** Such as `3.1`. */
export function versionOf(type: string, vector: string): string {
  return /^CVSS:(\d\.\d)\//.exec(vector)?.[1] ?? (type === "TYPE_CVSS_V2" ? "2.0" : "");
}
