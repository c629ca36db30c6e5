/** The service VulnerabilitiesService of holt.v1: what is open in images. Read-only. */
import { create } from "@bufbuild/protobuf";
import type { Timestamp } from "@bufbuild/protobuf/wkt";
import {
  PackageVulnerability_Fix as Fix,
  ImageVulnerabilitySchema,
  type ListImageVulnerabilitiesRequest,
  ListImageVulnerabilitiesResponseSchema,
  type ListVulnerabilitiesRequest,
  ListVulnerabilitiesResponseSchema,
  ListVulnerabilityCountsResponseSchema,
  type PackageVulnerability,
  PackageVulnerabilitySchema,
  SharedVulnerabilitySchema,
  PackageVulnerability_State as State,
  VulnerabilitiesService,
  type VulnerabilityCount,
  VulnerabilityCountSchema,
  type VulnerabilitySeverity,
} from "@holt/api/gen/holt/v1/vulnerabilities_pb.ts";
import type { Call } from "../../../api/call/call.ts";
import { implement, read } from "../../../api/call/implement.ts";
import { parsePageRequest } from "../../../api/resource/list.ts";
import { cutPage } from "../../../api/resource/page-bytes.ts";
import { bindingOf, type PageTokens } from "../../../api/resource/page-token.ts";
import { isDigest } from "../../../blobs/digest.ts";
import { timestampFromText } from "../../../lib/clock.ts";
import { invalidArgument, notFound } from "../../../lib/errors.ts";
import { countByDay, type DailyCount } from "../../findings/daily-counts.ts";
import { type FixState, SEVERITY, type SeverityNumber } from "../../findings/finding.ts";
import type { ImageFinding } from "../../findings/image-findings.ts";
import { readLocations } from "../../findings/locations.ts";
import { type ReportedFinding, readReport } from "../../findings/report.ts";
import { keyOfShared, listSharedFindings, type SharedFinding, type SharedKey } from "../../findings/shared-findings.ts";
import { startOfDay } from "../../reports/days.ts";
import { parseOptionalDays } from "./day-range.ts";

export function vulnerabilitiesService({ pageTokens }: { readonly pageTokens: PageTokens }) {
  return implement(
    VulnerabilitiesService,
    {
      listImageVulnerabilities: read((request, call) => listImageVulnerabilities(request, call, pageTokens)),
      listVulnerabilities: read((request, call) => listVulnerabilities(request, call, pageTokens)),
      listVulnerabilityCounts: read(async ({ uid, tag, startTime, endTime, cumulative }, { db, now, metadata: { signal } }) => {
        const range = parseOptionalDays(startTime, endTime, { now, start: "start_time", end: "end_time" });
        const images = [{ repo_uid: uid, tag: tag || "latest" }];
        const counts: VulnerabilityCount[] = [];
        for await (const count of countByDay(db, { images, range, now, isCumulative: cumulative, signal })) counts.push(countOf(count));
        return create(ListVulnerabilityCountsResponseSchema, { counts });
      }),
    },
    "Repo",
  );
}

async function listImageVulnerabilities(request: ListImageVulnerabilitiesRequest, call: Call, tokens: PageTokens) {
  const { uid, digest, pageToken, pageSize } = request;
  const { db, now } = call;
  const { limit } = parsePageRequest({ pageSize, skip: 0 });
  const binding = bindingOfFilters(request, call);
  const after = pageToken === "" ? undefined : tokens.open(pageToken, binding, now);
  const filter = filterOf(request);
  const report = isDigest(digest) ? await readReport(db, uid, digest) : undefined;
  if (report === undefined) throw notFound("Image", digest.slice(0, 200));
  const matching = report.findings.filter(filter);
  const rest = after === undefined ? matching : matching.filter(({ position }) => position > after.key);
  const candidates = rest.slice(0, limit + 1);
  const locationsOf = await readLocations(db, candidates);
  const { rows, hasMore } = cutPage(candidates, limit, (finding) => bytesOfDetail(finding) + locationsOf(finding).bytes);
  const last = hasMore ? rows.at(-1) : undefined;
  return create(ListImageVulnerabilitiesResponseSchema, {
    vulnerabilities: rows.map((finding) => {
      const { imageDigest, platform } = finding;
      const { purls, locations } = locationsOf(finding);
      const vulnerability = vulnerabilityOf(finding);
      return create(ImageVulnerabilitySchema, { vulnerability, imageDigest, platform, purls: [...purls], locations: [...locations] });
    }),
    nextPageToken: last === undefined ? "" : tokens.seal({ key: last.position, uid: "", skipped: 0 }, binding, now),
    totalCount: BigInt(matching.length),
    complete: report.state.isCurrent,
    ...(report.state.time !== undefined && { matchTime: timestampFromText(report.state.time) }),
  });
}

function bytesOfDetail({ detail }: Pick<ImageFinding, "detail">): number {
  return Buffer.byteLength(JSON.stringify(detail));
}

function bindingOfFilters(request: ListImageVulnerabilitiesRequest | ListVulnerabilitiesRequest, call: Call): string {
  const { pageToken: _, pageSize: __, $typeName: ___, ...filters } = request;
  return bindingOf(call, filters);
}

/** Whether a finding matches all filters. */
function filterOf(request: ListImageVulnerabilitiesRequest): (finding: ReportedFinding) => boolean {
  assertFewValues(request);
  const severities = new Set<number>(request.severities);
  const vulnerabilities = new Set(request.vulnerabilityIds);
  const packages = new Set(request.packageNames);
  const { state, fixable } = request;
  return (finding) => {
    const { vulnerability, severity, name, origin, detail } = finding;
    return (
      (severities.size === 0 || severities.has(severity)) &&
      (state === State.UNSPECIFIED || state === stateOf(finding)) &&
      (vulnerabilities.size === 0 || [vulnerability, ...detail.aliases].some((id) => vulnerabilities.has(id))) &&
      (packages.size === 0 || packages.has(name) || packages.has(origin)) &&
      (!fixable || detail.fixState === "fixed")
    );
  };
}

/** Values of one filter. */
const MAX_VALUES = 1000;

/** @throws INVALID_ARGUMENT */
function assertFewValues({
  severities,
  vulnerabilityIds,
  packageNames,
}: ListImageVulnerabilitiesRequest | ListVulnerabilitiesRequest): void {
  const filters = { severities, vulnerability_ids: vulnerabilityIds, package_names: packageNames };
  for (const [field, values] of Object.entries(filters))
    if (values.length > MAX_VALUES) throw invalidArgument(field, `must have at most ${MAX_VALUES} values: send several requests`);
}

async function listVulnerabilities(request: ListVulnerabilitiesRequest, call: Call, tokens: PageTokens) {
  const {
    uid,
    severities,
    state,
    vulnerabilityIds: vulnerabilities,
    packageNames: names,
    fixable: isFixable,
    pageToken,
    pageSize,
  } = request;
  assertFewValues(request);
  const { db, now } = call;
  const { limit } = parsePageRequest({ pageSize, skip: 0 });
  const binding = bindingOfFilters(request, call);
  const position = pageToken === "" ? undefined : tokens.open(pageToken, binding, now);
  const after = position && (JSON.parse(position.key) as SharedKey);
  const isSuppressed = state === State.UNSPECIFIED ? undefined : state === State.SUPPRESSED;
  const query = { uid, severities, isSuppressed, vulnerabilities, names, isFixable, after, limit: limit + 1 };
  const { rows, hasMore } = cutPage(await listSharedFindings(db, query), limit, bytesOfDetail);
  const last = hasMore ? rows.at(-1) : undefined;
  return create(ListVulnerabilitiesResponseSchema, {
    vulnerabilities: rows.map((row) =>
      create(SharedVulnerabilitySchema, { vulnerability: vulnerabilityOf(row), imageCount: BigInt(row.imageCount) }),
    ),
    nextPageToken: last === undefined ? "" : tokens.seal({ key: JSON.stringify(keyOfShared(last)), uid: "", skipped: 0 }, binding, now),
  });
}

const fixes: Readonly<Record<FixState, Fix>> = {
  unknown: Fix.UNKNOWN,
  fixed: Fix.AVAILABLE,
  not_fixed: Fix.NOT_AVAILABLE,
  wont_fix: Fix.NOT_PLANNED,
};

function vulnerabilityOf(finding: ImageFinding | SharedFinding): PackageVulnerability {
  const { vulnerability, severity, detail, type, name, version, origin, openTime } = finding;
  const { suppression } = detail;
  return create(PackageVulnerabilitySchema, {
    vulnerabilityId: vulnerability,
    aliases: [...detail.aliases],
    severity: severity as VulnerabilitySeverity,
    state: stateOf(finding),
    fix: fixes[detail.fixState],
    fixedVersions: [...detail.fixed],
    packageType: type,
    packageName: name,
    packageVersion: version,
    packageOrigin: origin,
    advisoryUids: detail.advisories.map(({ uid }) => uid),
    cvssVectors: detail.cvss.map(({ score }) => score),
    openTime: timestampFromText(openTime),
    ...(suppression !== undefined && {
      suppression: {
        status: suppression.status,
        justification: suppression.justification,
        note: suppression.note,
        advisoryUid: suppression.advisory,
      },
    }),
  });
}

function stateOf({ detail }: Pick<ImageFinding, "detail">): State {
  return detail.suppression === undefined ? State.OPEN : State.SUPPRESSED;
}

function countOf({ day, digest, severities }: DailyCount): VulnerabilityCount {
  const counts = new Map<SeverityNumber, number>();
  for (const severity of severities.values()) counts.set(severity, (counts.get(severity) ?? 0) + 1);
  const count = (severity: SeverityNumber) => BigInt(counts.get(severity) ?? 0);
  return create(VulnerabilityCountSchema, {
    date: timestampFromText(startOfDay(day)) as Timestamp,
    digest,
    unknownCount: count(SEVERITY.unknown),
    negligibleCount: count(SEVERITY.negligible),
    lowCount: count(SEVERITY.low),
    mediumCount: count(SEVERITY.medium),
    highCount: count(SEVERITY.high),
    criticalCount: count(SEVERITY.critical),
  });
}
