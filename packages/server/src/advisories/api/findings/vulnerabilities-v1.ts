/** The service Vulnerabilities of registry.v1: reports of images, and counts by day. Read-only. */
import { create } from "@bufbuild/protobuf";
import {
  Vulnerability_Fix_State as FixState,
  RawVulnReportSchema,
  Vulnerability_Severity as Severity,
  type VulnCountReport,
  type VulnCountReportFilter,
  VulnCountReportListSchema,
  VulnCountReportSchema,
  Vulnerabilities,
  type Vulnerability,
  VulnerabilitySchema,
  type VulnReport,
  type VulnReportFilter,
  VulnReportListSchema,
  VulnReportSchema,
} from "@holt/api/gen/platform/registry/v1/vulnerabilities_pb.ts";
import type { Call } from "../../../api/call/call.ts";
import { encodeLongReply } from "../../../api/call/encode-long-reply.ts";
import { implement, read } from "../../../api/call/implement.ts";
import { MAX_WHOLE_LIST_BYTES } from "../../../api/v1/collected-rows.ts";
import { createBreaks, mapWithBreaks } from "../../../jobs/breaks.ts";
import { parseTime, timestampFromText } from "../../../lib/clock.ts";
import { Code, HoltError, invalidArgument, notFound, resourceExhausted } from "../../../lib/errors.ts";
import { countByDay, type DailyCount, MAX_COUNTED_IDS } from "../../findings/daily-counts.ts";
import type { FixState as FoundState } from "../../findings/finding.ts";
import type { ReportedFinding } from "../../findings/report.ts";
import { startOfDay } from "../../reports/days.ts";
import type { ImageName } from "../../reports/image-states.ts";
import { MAX_REFS, resolveImageRefs } from "../published/image-refs.ts";
import { parseOptionalDays } from "./day-range.ts";
import { findImages } from "./find-images.ts";
import { loadReport } from "./load-report.ts";
import { type ReportData, rawReport, versionOf } from "./report-json.ts";

/** Findings of one answer. */
const MAX_FINDINGS = 50_000;
/** Sum of the days of all tags. */
const MAX_COUNTS = 10_000;

export function vulnerabilitiesServiceV1({ registryHost }: { readonly registryHost: string }) {
  return implement(
    Vulnerabilities,
    {
      listVulnReports: read(async (request, call) => {
        const list = create(VulnReportListSchema, { items: await listReports(request, call) });
        return encodeLongReply(VulnReportListSchema, list, call.metadata);
      }),
      getRawVulnReport: read(async ({ digest, createdAt }, call) => {
        const data = await loadFirst(digest, call);
        // Earlier reports are not kept.
        const isEarlier = createdAt !== undefined && data !== undefined && parseTime("created_at", createdAt, Math.floor) < data.time;
        if (data === undefined || isEarlier) throw notFound("VulnReport", digest.slice(0, 200));
        const scanner = { version: "holt", dbBuildTime: timestampFromText(data.time) };
        const createdTime = timestampFromText(data.time);
        const report = create(RawVulnReportSchema, { digest, scanner, createdAt: createdTime, rawReport: await rawReport(data) });
        return encodeLongReply(RawVulnReportSchema, report, call.metadata);
      }),
      listVulnCountReports: read((request, call) => listCounts(request, { call, registryHost, isCumulative: false })),
      listCumulativeVulnCountReports: read((request, call) => listCounts(request, { call, registryHost, isCumulative: true })),
    },
    "VulnReport",
  );
}

async function listReports({ repoId, digest, tag, createdSince }: VulnReportFilter, call: Call): Promise<VulnReport[]> {
  if (repoId === "" && digest === "") throw invalidArgument("repo_id", "repo_id or digest is required");
  const since = createdSince === undefined ? "" : parseTime("created_since", createdSince);
  const reports: VulnReport[] = [];
  let left = MAX_FINDINGS;
  let bytesLeft = MAX_WHOLE_LIST_BYTES;
  for (const image of await findImages({ repoId, digest, tag }, call)) {
    if (call.metadata.signal.aborted) throw new HoltError(Code.CANCELLED, "The caller disconnected");
    const data = await loadReport(call.db, { ...image, showsDetails: true, left: bytesLeft });
    if (data === undefined || data.time < since) continue;
    bytesLeft -= data.bytes;
    left -= data.findings.length;
    if (left < 0)
      throw resourceExhausted(
        "these images have too many vulnerabilities; request one digest, or list them by holt.v1 VulnerabilitiesService",
      );
    reports.push(await reportOf(data));
  }
  return reports;
}

async function loadFirst(digest: string, call: Call): Promise<ReportData | undefined> {
  if (digest === "") throw invalidArgument("digest", "digest is required");
  for (const image of await findImages({ repoId: "", digest, tag: "" }, call)) {
    const data = await loadReport(call.db, { ...image, showsDetails: false });
    if (data !== undefined) return data;
  }
  return undefined;
}

async function reportOf(data: ReportData): Promise<VulnReport> {
  const time = timestampFromText(data.time);
  const vulnerabilities = await mapWithBreaks(data.findings, (finding) => vulnerabilityOf(finding, data), createBreaks());
  return create(VulnReportSchema, {
    digest: data.digest,
    scanner: { version: "holt", dbBuildTime: time },
    createdAt: time,
    vulnerabilities,
  });
}

/** By number of the severity. */
const severities = [
  Severity.UNKNOWN,
  Severity.UNKNOWN,
  Severity.NEGLIGIBLE,
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

function vulnerabilityOf(finding: ReportedFinding, { records, locationsOf }: ReportData): Vulnerability {
  const { vulnerability: id, severity, detail } = finding;
  const record = records.get(id);
  const { purls, locations } = locationsOf(finding);
  return create(VulnerabilitySchema, {
    id,
    aliases: [...detail.aliases],
    purls: [...purls],
    description: record?.summary ?? "",
    details: record?.details ?? "",
    severity: severities[severity] ?? Severity.UNKNOWN,
    cvss: detail.cvss.map(({ type, score }) => ({ score, version: versionOf(type, score) })),
    fix: { versions: [...detail.fixed], state: fixStates[detail.fixState] },
    relatedUrls: record?.references.map(({ url }) => url) ?? [],
    locations: [...locations],
  });
}

interface CountContext {
  readonly call: Call;
  readonly registryHost: string;
  readonly isCumulative: boolean;
}

async function listCounts({ repo, tag, from, to, references }: VulnCountReportFilter, { call, registryHost, isCumulative }: CountContext) {
  const range = parseOptionalDays(from, to, { now: call.now, start: "from", end: "to" });
  const [refs, field] = references.length > 0 ? ([references, "references"] as const) : ([[{ repo, tag }], "repo"] as const);
  if (refs.some((ref) => ref.repo === "")) throw invalidArgument(field, "repo is required");
  if (refs.length > MAX_REFS)
    throw invalidArgument("references", `references must have at most ${MAX_REFS} elements: send several requests`);
  if (refs.length * (range.last - range.first + 1) > MAX_COUNTS)
    throw resourceExhausted(`an answer has at most ${MAX_COUNTS} counts; request fewer references or days`);
  const given = refs.map((ref) => ({ repo: ref.repo, tags: ref.tag === "" ? [] : [ref.tag] }));
  // Lists of version 1 are empty for what does not exist.
  const images = await resolveImageRefs(given, { registryHost, field, onMissing: () => {} }, call);
  const query = { images, range, now: call.now, isCumulative, signal: call.metadata.signal };
  const spellings = new Map(images.map((image) => [keyOf(image), image.spellings]));
  const items: VulnCountReport[] = [];
  let left = MAX_COUNTED_IDS;
  for await (const count of countByDay(call.db, query)) {
    const repos = spellings.get(keyOf(count.image)) ?? [];
    left -= count.severities.size * repos.length;
    if (left < 0)
      throw resourceExhausted(
        `an answer has at most ${MAX_COUNTED_IDS} vulnerability ids; request fewer references or days, or count by holt.v1 VulnerabilitiesService`,
      );
    // Clients find their counts by the repo as they named it.
    for (const repo of repos) items.push(countOf(count, repo));
  }
  // By date, then by repo and tag.
  const order = (item: VulnCountReport) => `${String(item.date?.seconds ?? 0n).padStart(12, "0")} ${item.repo} ${item.tag}`;
  return create(VulnCountReportListSchema, { items: items.sort((a, b) => (order(a) < order(b) ? -1 : 1)) });
}

function keyOf({ repo_uid, tag }: ImageName): string {
  return `${repo_uid}:${tag}`;
}

function countOf({ image: { tag }, day, size, severities: found }: DailyCount, repo: string): VulnCountReport {
  const ids = (wanted: Severity) =>
    [...found]
      .filter(([, severity]) => severities[severity] === wanted)
      .map(([id]) => id)
      .sort();
  const all = [Severity.UNKNOWN, Severity.LOW, Severity.MEDIUM, Severity.HIGH, Severity.CRITICAL, Severity.NEGLIGIBLE];
  const vulnCounts = all.map((severity) => ({ severity, count: ids(severity).length })).filter(({ count }) => count > 0);
  return create(VulnCountReportSchema, {
    repo,
    tag,
    date: timestampFromText(startOfDay(day)),
    vulnCounts,
    sizeBytes: BigInt(size),
    cveIds: [...found.keys()].sort(),
    lowCveIds: ids(Severity.LOW),
    medCveIds: ids(Severity.MEDIUM),
    highCveIds: ids(Severity.HIGH),
    critCveIds: ids(Severity.CRITICAL),
    negligibleCveIds: ids(Severity.NEGLIGIBLE),
    unknownCveIds: ids(Severity.UNKNOWN),
  });
}
