/** Renders advisories as records of OSV schema 1.7: one per advisory id, listing all affected artifacts. Pure. */

import { Severity_Type } from "@holt/api/gen/platform/advisory/v2/security_advisories_pb.ts";
import { isCvssVector } from "../model/cvss-vector.ts";
import { osvIdOf } from "../model/osv-id.ts";
import { ecosystemOf, packageType } from "./ecosystems.ts";
import { artifactUrl, componentUrl } from "./package-url.ts";
import type { PublishedAdvisory } from "./published-advisory.ts";
import { knownVulnerability, newest, type Rendering } from "./rendering.ts";
import type { Vulnerability } from "./vulnerability.ts";

/** The version before all others, according to the OSV schema, "affected[].ranges[].events fields". */
const BEFORE_ALL = "0";

/** @param advisories with the same id @returns undefined if OSV has no ecosystem for any of the artifacts */
export function osvRecord(advisories: readonly PublishedAdvisory[], rendering: Rendering): object | undefined {
  const [first] = advisories;
  const affected = advisories.flatMap((advisory) => affectedBy(advisory, rendering) ?? []);
  if (first === undefined || affected.length === 0) return undefined;
  const aliases = [...new Set(advisories.flatMap((advisory) => advisory.aliases))].filter((alias) => alias !== first.advisoryId);
  const vulnerability = advisories.map((advisory) => knownVulnerability(advisory, rendering)).find((known) => known !== undefined);
  return {
    schema_version: "1.7.0",
    id: osvIdOf(first.advisoryId),
    modified: newest([...advisories.map(({ updateTime }) => updateTime), vulnerability?.updateTime ?? ""]),
    published: advisories.map(({ createTime }) => createTime).reduce((a, b) => (a < b ? a : b)),
    aliases,
    ...(vulnerability !== undefined && describe(vulnerability)),
    affected,
  };
}

function affectedBy(advisory: PublishedAdvisory, { distributions }: Rendering): object | undefined {
  const { uid, artifactName, artifactType, latest } = advisory;
  const ecosystem = ecosystemOf(packageType(artifactType), uid, distributions);
  if (ecosystem === undefined || artifactName === "") return undefined;
  const component = componentUrl(advisory, distributions);
  return {
    package: { ecosystem, name: artifactName, purl: artifactUrl(advisory, distributions) },
    ranges: [{ type: "ECOSYSTEM", events: [{ introduced: BEFORE_ALL }, ...fixes(advisory)] }],
    ecosystem_specific: {
      components: [
        {
          component_name: advisory.componentName,
          component_type: advisory.componentType,
          component_location: advisory.componentLocation,
          ...(component !== undefined && { component_purl: component }),
          latest_event_status: snakeCase(latest.kind),
          latest_event_timestamp: latest.time,
        },
      ],
      // Versions after a patched one have the vulnerability again, which a range cannot express.
      ...(latest.kind === "patched" && { patched_versions: latest.versions }),
    },
  };
}

/** A range that is fixed before it begins means that no version is affected. */
function fixes({ latest }: PublishedAdvisory): object[] {
  if (latest.kind === "falsePositiveDetermination") return [{ fixed: BEFORE_ALL }];
  return latest.kind === "fixed" ? latest.versions.map((fixed) => ({ fixed })) : [];
}

/** OSV schema, "references[].type field". */
const REFERENCES: ReadonlySet<string> = new Set([
  ...["ADVISORY", "ARTICLE", "DETECTION", "DISCUSSION", "REPORT", "FIX", "INTRODUCED", "PACKAGE", "EVIDENCE", "WEB"],
]);

function describe({ summary, details, severities, references }: Vulnerability): object {
  const severity = severities.filter(isVector);
  const links = references.filter(({ url }) => URL.canParse(url) && /^[\x21-\x7e]+$/.test(url));
  return {
    ...(summary !== "" && { summary }),
    ...(details !== "" && { details }),
    ...(severity.length > 0 && { severity }),
    ...(links.length > 0 && { references: links.map(({ type, url }) => ({ type: REFERENCES.has(type) ? type : "WEB", url })) }),
  };
}

/** The OSV schema, "severity field", only accepts vectors that follow their version's grammar. */
function isVector({ type, score }: Vulnerability["severities"][number]): boolean {
  return (type === "CVSS_V2" || type === "CVSS_V3" || type === "CVSS_V4") && isCvssVector(Severity_Type[type], score);
}

function snakeCase(name: string): string {
  return name.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);
}
