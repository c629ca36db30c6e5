/** Reads the package URLs in SBOMs: SPDX and CycloneDX JSON, plain or attested in statements and envelopes. Pure. */
import { type Json, recordOf, recordsOf } from "../../lib/is-record.ts";
import { isAbout } from "../statement.ts";
import { type FoundPackage, Unreadable } from "./found-package.ts";
import { packageFromUrl } from "./package-url.ts";

const SPDX = "application/spdx+json";
const CYCLONE_DX = "application/vnd.cyclonedx+json";

export interface SbomDocument {
  /** Digest of the document. */
  readonly location: string;
  /** Digest of the image that a statement must be about; undefined if the registry does not know it. */
  readonly subject: string | undefined;
}

/** Empty if the document is a statement that is not an SBOM. @throws Unreadable */
export function readSbom(content: Uint8Array, { location, subject }: SbomDocument): Iterable<FoundPackage> {
  const sbom = sbomIn(parse(Buffer.from(content.buffer, content.byteOffset, content.byteLength).toString("utf8")), subject);
  if (sbom === undefined) return [];
  if (sbom.bomFormat === "CycloneDX") return packagesAt(urlsOfCycloneDx(sbom), { location, source: CYCLONE_DX });
  if (typeof sbom.spdxVersion === "string" || Array.isArray(sbom["@graph"]))
    return packagesAt(urlsOfSpdx(sbom), { location, source: SPDX });
  throw new Unreadable("the document is neither SPDX nor CycloneDX");
}

function* packagesAt(urls: Iterable<unknown>, document: Pick<FoundPackage, "location" | "source">): Generator<FoundPackage> {
  for (const url of urls) {
    const found = typeof url === "string" ? packageFromUrl(url, document) : undefined;
    if (found !== undefined) yield found;
  }
}

function* urlsOfSpdx(sbom: Json): Generator<unknown> {
  for (const each of recordsOf(sbom.packages))
    for (const { referenceType, referenceLocator } of recordsOf(each.externalRefs)) if (referenceType === "purl") yield referenceLocator;
  // SPDX 3.
  for (const each of recordsOf(sbom["@graph"])) yield each.software_packageUrl;
}

/** Includes nested components, but not the component that the document describes. */
function* urlsOfCycloneDx(sbom: Json): Generator<unknown> {
  const waiting = [sbom.components];
  while (waiting.length > 0) {
    for (const component of recordsOf(waiting.pop())) {
      yield component.purl;
      if (component.components !== undefined) waiting.push(component.components);
    }
  }
}

/**
 * The SBOM in a DSSE envelope, a Sigstore bundle or an in-toto statement; else the document itself. Undefined if the
 * statement is not an SBOM.
 * @throws Unreadable
 */
export function sbomIn(document: Json, subject: string | undefined): Json | undefined {
  const statement = statementIn(document);
  if (typeof statement.predicateType !== "string") return statement;
  if (!/spdx|cyclonedx/i.test(statement.predicateType)) return undefined;
  if (subject !== undefined && !isAbout(statement, subject)) throw new Unreadable("the statement is about another image");
  // Some tools embed the document as a string.
  const predicate = typeof statement.predicate === "string" ? parse(statement.predicate) : recordOf(statement.predicate);
  if (predicate === undefined) throw new Unreadable("the statement has no predicate");
  return predicate;
}

/** The statement in a DSSE envelope or a Sigstore bundle; else the document itself. @throws Unreadable */
export function statementIn(document: Json): Json {
  const envelope = recordOf(document.dsseEnvelope) ?? document;
  return typeof envelope.payload === "string" ? parse(Buffer.from(envelope.payload, "base64").toString("utf8")) : document;
}

function parse(text: string): Json {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    throw new Unreadable("the document is not JSON");
  }
  const record = recordOf(value);
  if (record === undefined) throw new Unreadable("the document is not a JSON object");
  return record;
}
