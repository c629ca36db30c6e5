/** Reads an attached document on a thread: finds the SBOM in it, and writes the answers of the API as JSON text. */
import { create, type MessageInitShape } from "@bufbuild/protobuf";
import { RawSbomSchema } from "@holt/api/gen/platform/registry/v1/registry_pb.ts";
import { Sbom2_Source, Sbom2Schema } from "@holt/api/gen/platform/tenant/v1/sboms_pb.ts";
import { isTime, timestampFromDate, timestampFromText } from "../../lib/clock.ts";
import { type Json, recordOf } from "../../lib/is-record.ts";
import { compileJsonEncoder } from "../../lib/proto-json.ts";
import { parseBoundedJson } from "../../lib/strict-json.ts";
import { type BlobFile, readBlobFile, unreadable } from "../content/blob-file.ts";
import { MAX_SBOM_BYTES } from "../content/document-sizes.ts";
import { Unreadable } from "../packages/found-package.ts";
import { sbomIn } from "../packages/sbom.ts";
import type { ParsedSbom } from "./component-graph.ts";
import { readCycloneDx } from "./cyclone-dx.ts";
import { readSpdx2 } from "./spdx-2.ts";
import { readSpdx3 } from "./spdx-3.ts";

const LIMITS = { maxDepth: 100, maxValues: 1_000_000 };
/** Larger documents are left out of the answer with the graph, which clients of gRPC would refuse. */
const MAX_INCLUDED_BYTES = 1024 * 1024;

export interface AttachedDocument {
  readonly file: BlobFile;
  /** Digest that a statement must be about; undefined if the manifest does not say. */
  readonly subject: string | undefined;
  /** Digest of the image. */
  readonly image: string;
  /** When the document was attached. */
  readonly time: string;
}

/** JSON of a RawSbom; undefined if the document is not an SBOM. @throws FAILED_PRECONDITION, NOT_FOUND */
export async function readRawSbom(document: AttachedDocument): Promise<string | undefined> {
  const found = await findSbom(document);
  return found === undefined ? undefined : compileJsonEncoder(RawSbomSchema)(create(RawSbomSchema, { rawSbom: found.text }));
}

/** JSON of an Sbom2; undefined if the document is not an SBOM. @throws FAILED_PRECONDITION, NOT_FOUND */
export async function readParsedSbom(document: AttachedDocument): Promise<string | undefined> {
  const found = await findSbom(document);
  if (found === undefined) return undefined;
  const { file, image, time } = document;
  const parsed = reportingProblems(file.digest, () => parseSbom(found.sbom));
  const raw = Buffer.from(found.text);
  const message = create(Sbom2Schema, {
    id: file.digest,
    digest: image,
    source: Sbom2_Source.INGESTED,
    lastSeen: timestampFromText(time),
    ...fieldsOf(parsed),
    ...(raw.length <= MAX_INCLUDED_BYTES && { rawSbom: new Uint8Array(raw) }),
  });
  return compileJsonEncoder(Sbom2Schema)(message);
}

function fieldsOf({ generatedAt, ...fields }: ParsedSbom): MessageInitShape<typeof Sbom2Schema> {
  const date = new Date(generatedAt);
  return { ...fields, ...(isTime(date) && { generatedAt: timestampFromDate(date) }) };
}

/** @param text the SBOM itself, without the statement around it */
async function findSbom({ file, subject }: AttachedDocument): Promise<{ readonly sbom: Json; readonly text: string } | undefined> {
  const text = (await readBlobFile(file, MAX_SBOM_BYTES)).toString("utf8");
  return reportingProblems(file.digest, () => {
    const document = parse(text);
    const sbom = sbomIn(document, subject);
    return sbom === undefined ? undefined : { sbom, text: sbom === document ? text : JSON.stringify(sbom) };
  });
}

function parse(text: string): Json {
  let value: unknown;
  try {
    value = parseBoundedJson(text, LIMITS);
  } catch (error) {
    throw new Unreadable(`not JSON within the limits: ${(error as Error).message.slice(0, 200)}`);
  }
  const document = recordOf(value);
  if (document === undefined) throw new Unreadable("the document is not a JSON object");
  return document;
}

/** @throws Unreadable */
function parseSbom(sbom: Json): ParsedSbom {
  if (sbom.bomFormat === "CycloneDX") return readCycloneDx(sbom);
  if (Array.isArray(sbom["@graph"])) return readSpdx3(sbom);
  if (typeof sbom.spdxVersion === "string") return readSpdx2(sbom);
  throw new Unreadable("the document is neither SPDX nor CycloneDX");
}

function reportingProblems<Result>(digest: string, read: () => Result): Result {
  try {
    return read();
  } catch (error) {
    throw error instanceof Unreadable ? unreadable(digest, error.message) : error;
  }
}
