/** Reads how images were built from SLSA provenance (slsa.dev, versions 0.1 to 1), on a thread. */
import { isTime } from "../../lib/clock.ts";
import { type Json, recordOf, recordsOf } from "../../lib/is-record.ts";
import { parseBoundedJson } from "../../lib/strict-json.ts";
import { type BlobFile, readBlobFile } from "../content/blob-file.ts";
import { Unreadable } from "../packages/found-package.ts";
import { statementIn } from "../packages/sbom.ts";
import { isAbout } from "../statement.ts";

/** Maximum size of a document. The largest provenance has a few hundred kilobytes. */
export const MAX_DOCUMENT_BYTES = 4 * 1024 * 1024;
const LIMITS = { maxDepth: 100, maxValues: 250_000 };
/** Characters of each of the two texts that are stored of a build. Longer ones are left out. */
const MAX_TEXT = 32 * 1024;
const PROVENANCE = /^https:\/\/slsa\.dev\/provenance\/(?:v0\.[12]|v1(?:\.0)?)$/;

export interface AttestedFiles {
  readonly files: readonly (BlobFile & { readonly mediaType: string })[];
  /** Digest that the statements must be about; undefined if the manifest does not say. */
  readonly subject: string | undefined;
}

export interface FoundBuild {
  /** Digest of the document. */
  readonly document: string;
  readonly mediaType: string;
  /** Digest of the image that was built. */
  readonly image: string;
  /** RFC 3339 in UTC with milliseconds; undefined if the provenance does not say. */
  readonly startTime: string | undefined;
  readonly endTime: string | undefined;
  /** JSON of what the build was asked to do. */
  readonly config: string;
  /** JSON of the exact inputs of the build. */
  readonly lockedConfig: string;
  readonly apkoVersion: string;
}

/** Leaves out documents that are not readable as provenance of this subject. */
export async function readBuilds({ files, subject }: AttestedFiles): Promise<FoundBuild[]> {
  const builds: FoundBuild[] = [];
  for (const file of files) {
    const build = buildIn((await readBlobFile(file, MAX_DOCUMENT_BYTES)).toString("utf8"), subject);
    if (build !== undefined) builds.push({ ...build, document: file.digest, mediaType: file.mediaType });
  }
  return builds;
}

type Build = Omit<FoundBuild, "document" | "mediaType">;

function buildIn(text: string, subject: string | undefined): Build | undefined {
  const statement = statementOf(text);
  const predicate = recordOf(statement?.predicate);
  if (statement === undefined || predicate === undefined || !PROVENANCE.test(String(statement.predicateType))) return undefined;
  if (subject !== undefined && !isAbout(statement, subject)) return undefined;
  const image = subject ?? subjectOf(statement);
  if (image === undefined) return undefined;
  return { image, ...(predicate.buildDefinition === undefined ? buildOfVersion0(predicate) : buildOfVersion1(predicate)) };
}

function statementOf(text: string): Json | undefined {
  try {
    const document = recordOf(parseBoundedJson(text, LIMITS));
    return document && statementIn(document);
  } catch (error) {
    if (error instanceof SyntaxError || error instanceof Unreadable) return undefined;
    throw error;
  }
}

function subjectOf(statement: Json): string | undefined {
  for (const { digest } of recordsOf(statement.subject)) {
    const sha256 = recordOf(digest)?.sha256;
    if (typeof sha256 === "string" && /^[0-9a-f]{64}$/.test(sha256)) return `sha256:${sha256}`;
  }
  return undefined;
}

function buildOfVersion1({ buildDefinition, runDetails }: Json): Omit<Build, "image"> {
  const definition = recordOf(buildDefinition) ?? {};
  const run = recordOf(runDetails) ?? {};
  const metadata = recordOf(run.metadata) ?? {};
  const versions = recordOf(recordOf(run.builder)?.version) ?? {};
  return {
    startTime: timeOf(metadata.startedOn),
    endTime: timeOf(metadata.finishedOn),
    config: jsonOf(definition.externalParameters),
    lockedConfig: jsonOf(definition.resolvedDependencies),
    apkoVersion: typeof versions.apko === "string" ? versions.apko.slice(0, 255).toWellFormed() : "",
  };
}

function buildOfVersion0(predicate: Json): Omit<Build, "image"> {
  const metadata = recordOf(predicate.metadata) ?? {};
  return {
    startTime: timeOf(metadata.buildStartedOn),
    endTime: timeOf(metadata.buildFinishedOn),
    // `recipe` was the name in version 0.1.
    config: jsonOf(predicate.invocation ?? predicate.recipe),
    lockedConfig: jsonOf(predicate.materials),
    apkoVersion: "",
  };
}

function jsonOf(value: unknown): string {
  const text = value === undefined ? "" : JSON.stringify(value);
  return text.length <= MAX_TEXT ? text : "";
}

/** Undefined for everything that a Timestamp cannot hold. */
function timeOf(value: unknown): string | undefined {
  const date = new Date(typeof value === "string" ? value : Number.NaN);
  return isTime(date) ? date.toISOString() : undefined;
}
