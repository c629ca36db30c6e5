/** Declares the formats in which feeds are served. */
import { csafDocument, csafFileName } from "../export/csaf.ts";
import { openVexFrame, openVexStatement } from "../export/openvex.ts";
import { osvRecord } from "../export/osv.ts";
import type { PublishedAdvisory } from "../export/published-advisory.ts";
import type { Frame, Rendering } from "../export/rendering.ts";
import { secdbFrame, secdbPackage } from "../export/secdb.ts";
import { osvIdOf } from "../model/osv-id.ts";

/** The column that advisories of one entry have in common. */
export type Sibling = "uid" | "advisory_id" | "artifact_name";

export interface FeedFormat {
  readonly name: "osv" | "openvex" | "csaf" | "secdb";
  readonly file: string;
  readonly contentType: string;
  readonly description: string;
  readonly sibling: Sibling;
  /** Whether the format includes content of public vulnerability records. */
  readonly usesVulnerabilities: boolean;
  /** @param advisories siblings, at least one @returns undefined if the format has no content for them */
  render(advisories: readonly PublishedAdvisory[], rendering: Rendering): object | undefined;
  /** An archive has one file per entry; a list is a JSON document with one element per entry. */
  readonly layout:
    | { readonly kind: "archive"; fileName(first: PublishedAdvisory): string; readonly isListed: boolean }
    | { readonly kind: "list"; frame(rendering: Rendering): Frame; readonly mayBeEmpty: boolean };
}

const osv: FeedFormat = {
  name: "osv",
  file: "osv.zip",
  contentType: "application/zip",
  description: "OSV 1.7: a record for each advisory id",
  sibling: "advisory_id",
  usesVulnerabilities: true,
  render: osvRecord,
  layout: { kind: "archive", fileName: ({ advisoryId }) => `${safeName(osvIdOf(advisoryId))}.json`, isListed: false },
};

const csaf: FeedFormat = {
  name: "csaf",
  file: "csaf.zip",
  contentType: "application/zip",
  description: "CSAF 2.0 VEX: a document for each advisory id",
  sibling: "advisory_id",
  usesVulnerabilities: true,
  render: csafDocument,
  layout: { kind: "archive", fileName: ({ advisoryId }) => csafFileName(advisoryId), isListed: true },
};

const openvex: FeedFormat = {
  name: "openvex",
  file: "openvex.json",
  contentType: "application/json",
  description: "OpenVEX 0.2: one document with a statement for each advisory",
  sibling: "uid",
  usesVulnerabilities: false,
  render: ([advisory], rendering) => (advisory === undefined ? undefined : openVexStatement(advisory, rendering)),
  // An OpenVEX document must have at least one statement.
  layout: { kind: "list", frame: openVexFrame, mayBeEmpty: false },
};

const secdb: FeedFormat = {
  name: "secdb",
  file: "secdb.json",
  contentType: "application/json",
  description: "Security database of apk packages: which version fixes what",
  sibling: "artifact_name",
  usesVulnerabilities: false,
  render: secdbPackage,
  layout: { kind: "list", frame: secdbFrame, mayBeEmpty: true },
};

export const feedFormats: readonly FeedFormat[] = [osv, openvex, csaf, secdb];

/** Encodes an id as a file name that cannot leave the folder into which an archive is extracted. */
function safeName(id: string): string {
  return encodeURIComponent(id)
    .replace(/^\./, "%2E")
    .replace(/[*~]/g, (char) => `%${char.charCodeAt(0).toString(16).toUpperCase()}`);
}
