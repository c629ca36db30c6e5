/** Reads the metadata of vulnerabilities from OSV records, from CVE records of format version 5, and from CSAF documents. Pure. */
import { Reference_Type, Severity_Type } from "@holt/api/gen/platform/advisory/v2/security_advisories_pb.ts";
import { type CvssVersion, isCvssVector } from "../model/cvss-vector.ts";
import { advisoryIdFromOsv } from "../model/osv-id.ts";
import { type ReadContext, readEach } from "./context.ts";
import { child, elementsOf, isAbsent, type Node, nameOf, noteOf, optionalName } from "./fields.ts";
import { BadRecord, type VulnerabilityRecord } from "./record.ts";
import { optionalTime, timeOf } from "./times.ts";

const MAX_SUMMARY = 1000;
const MAX_DETAILS = 65_536;
/** Further references are skipped. */
const MAX_REFERENCES = 500;
const MAX_URL = 2048;

const osvScores: ReadonlyMap<unknown, CvssVersion> = new Map([
  ["CVSS_V2", Severity_Type.CVSS_V2],
  ["CVSS_V3", Severity_Type.CVSS_V3],
  ["CVSS_V4", Severity_Type.CVSS_V4],
]);

const cveScores: readonly (readonly [name: string, version: CvssVersion])[] = [
  ["cvssV2_0", Severity_Type.CVSS_V2],
  ["cvssV3_0", Severity_Type.CVSS_V3],
  ["cvssV3_1", Severity_Type.CVSS_V3],
  ["cvssV4_0", Severity_Type.CVSS_V4],
];

const csafScores: readonly (readonly [name: string, version: CvssVersion])[] = [
  ["cvss_v2", Severity_Type.CVSS_V2],
  ["cvss_v3", Severity_Type.CVSS_V3],
  ["cvss_v4", Severity_Type.CVSS_V4],
];

/** The OSV types of the tags of CVE references. */
const cveTagTypes: ReadonlyMap<unknown, Reference_Type> = new Map([
  ["vendor-advisory", Reference_Type.ADVISORY],
  ["third-party-advisory", Reference_Type.ADVISORY],
  ["government-resource", Reference_Type.ADVISORY],
  ["patch", Reference_Type.FIX],
  ["exploit", Reference_Type.EVIDENCE],
  ["issue-tracking", Reference_Type.REPORT],
  ["mailing-list", Reference_Type.DISCUSSION],
  ["technical-description", Reference_Type.ARTICLE],
  ["media-coverage", Reference_Type.ARTICLE],
  ["product", Reference_Type.PACKAGE],
]);

export function readOsvVulnerability(document: Node, context: ReadContext): VulnerabilityRecord[] {
  const id = advisoryIdFromOsv(nameOf(child(document, "id")));
  const modified = timeOf(child(document, "modified"), context.now);
  // Some databases have scores per package, which are mostly equal.
  const scored = [document, ...elementsOf(child(document, "affected"))].flatMap((node) => elementsOf(child(node, "severity")));
  return [
    {
      id,
      modified: new Date(modified).toISOString(),
      summary: noteOf(child(document, "summary"), MAX_SUMMARY),
      details: noteOf(child(document, "details"), MAX_DETAILS),
      references: referencesOf(child(document, "references"), (node) => osvReferenceType(child(node, "type").value)),
      severities: severitiesOf(
        scored.map((node) => ({ version: osvScores.get(child(node, "type").value), score: child(node, "score") })),
        id,
        context,
      ),
    },
  ];
}

function osvReferenceType(name: unknown): Reference_Type {
  const isKnown = typeof name === "string" && Object.hasOwn(Reference_Type, name);
  return isKnown ? Reference_Type[name as keyof typeof Reference_Type] : Reference_Type.WEB;
}

export function isCve(document: Node): boolean {
  return child(document, "dataType").value === "CVE_RECORD" && !isAbsent(child(document, "cveMetadata"));
}

export function readCve(document: Node, context: ReadContext): VulnerabilityRecord[] {
  const metadata = child(document, "cveMetadata");
  const id = nameOf(child(metadata, "cveId"));
  const updated = optionalTime(child(metadata, "dateUpdated"), context.now) ?? optionalTime(child(metadata, "datePublished"), context.now);
  const cna = child(child(document, "containers"), "cna");
  const containers = [cna, ...elementsOf(child(child(document, "containers"), "adp"))];
  const scored = containers.flatMap((container) => elementsOf(child(container, "metrics")));
  const references = containers.flatMap((container) => elementsOf(child(container, "references")));
  return [
    {
      id,
      modified: updated === undefined ? "" : new Date(updated).toISOString(),
      summary: noteOf(child(cna, "title"), MAX_SUMMARY),
      details: englishOf(child(cna, "descriptions")) || englishOf(child(cna, "rejectedReasons")),
      references: uniqueReferences(references, (node) => cveReferenceType(child(node, "tags"))),
      severities: severitiesOf(
        scored.flatMap((metric) => cveScores.map(([name, version]) => ({ version, score: child(child(metric, name), "vectorString") }))),
        id,
        context,
      ),
    },
  ];
}

/** One record per vulnerability with an id. CSAF 2.1 has `metrics` in place of the `scores` of CSAF 2.0. */
export function readCsafVulnerabilities(document: Node, context: ReadContext): VulnerabilityRecord[] {
  const modified = timeOf(child(child(child(document, "document"), "tracking"), "current_release_date"), context.now);
  return readEach(elementsOf(child(document, "vulnerabilities")), context, (node): VulnerabilityRecord => {
    const id = optionalName(child(node, "cve")) || optionalName(child(elementsOf(child(node, "ids"))[0] ?? child(node, "ids"), "text"));
    if (id === "") throw new BadRecord(node.pointer, "neither a CVE nor another id");
    const scored = [...elementsOf(child(node, "scores")), ...elementsOf(child(node, "metrics")).map((metric) => child(metric, "content"))];
    return {
      id,
      modified: new Date(modified).toISOString(),
      summary: noteOf(child(node, "title"), MAX_SUMMARY),
      details: csafDescription(child(node, "notes")),
      references: referencesOf(child(node, "references"), () => Reference_Type.WEB),
      severities: severitiesOf(
        scored.flatMap((score) => csafScores.map(([name, version]) => ({ version, score: child(child(score, name), "vectorString") }))),
        id,
        context,
      ),
    };
  });
}

function csafDescription(notes: Node): string {
  const description = elementsOf(notes).find((note) => child(note, "category").value === "description");
  return description === undefined ? "" : noteOf(child(description, "text"), MAX_DETAILS);
}

function englishOf(list: Node): string {
  const descriptions = elementsOf(list);
  const english = descriptions.find((node) => String(child(node, "lang").value).toLowerCase().startsWith("en")) ?? descriptions[0];
  return english === undefined ? "" : noteOf(child(english, "value"), MAX_DETAILS);
}

function cveReferenceType(list: Node): Reference_Type {
  return (
    elementsOf(list)
      .map((tag) => cveTagTypes.get(tag.value))
      .find((type) => type !== undefined) ?? Reference_Type.WEB
  );
}

function referencesOf(list: Node, typeOf: (node: Node) => Reference_Type): VulnerabilityRecord["references"] {
  return uniqueReferences(elementsOf(list), typeOf);
}

/** Without duplicates. Skips addresses outside the web, because clients render references as links. */
function uniqueReferences(nodes: readonly Node[], typeOf: (node: Node) => Reference_Type): VulnerabilityRecord["references"] {
  const known = new Map<string, Reference_Type>();
  for (const node of nodes) {
    const url = child(node, "url").value;
    if (typeof url !== "string" || url.length > MAX_URL || !isWebAddress(url) || known.has(url)) continue;
    if (known.size === MAX_REFERENCES) break;
    known.set(url, typeOf(node));
  }
  return Array.from(known, ([url, type]) => ({ type, url }));
}

function isWebAddress(url: string): boolean {
  return /^(?:https?|ftp):\/\/[^\s\0]+$/i.test(url) && url.isWellFormed();
}

interface Score {
  /** Undefined for a kind of score that the API does not have. */
  readonly version: CvssVersion | undefined;
  readonly score: Node;
}

/** Without duplicates, sorted by version. Reports and skips a score that is not a vector. */
function severitiesOf(scores: readonly Score[], id: string, { report }: ReadContext): VulnerabilityRecord["severities"] {
  const known = new Map<string, CvssVersion>();
  for (const { version, score } of scores) {
    if (version === undefined || isAbsent(score)) continue;
    const vector = typeof score.value === "string" ? score.value.trim().replace(/^\((.*)\)$/, "$1") : "";
    if (isCvssVector(version, vector)) known.set(vector, version);
    else report(new BadRecord(score.pointer, `the score of ${id} is not a CVSS vector: "${noteOf(score.withValue(vector), 100)}"`));
  }
  return Array.from(known, ([score, type]) => ({ type, score })).sort((a, b) => a.type - b.type);
}
