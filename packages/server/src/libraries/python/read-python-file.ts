/** Reads what a wheel or a source distribution says about itself. */
import { openBoundedStream } from "../../blobs/bounded-stream.ts";
import { type PackageFile, withBytes } from "../package-archive.ts";
import { type CoreMetadata, parseCoreMetadata } from "./core-metadata.ts";
import { cudaVersionOf } from "./cuda-version.ts";
import type { PythonFileName } from "./python-name.ts";
import { readSdist } from "./read-sdist.ts";
import { type MetadataPlace, readWheel } from "./read-wheel.ts";
import { assertTagsAgree } from "./wheel-tags.ts";

export interface PythonFile {
  readonly file: PackageFile;
  readonly fileName: PythonFileName;
}

export interface FoundMetadata extends Omit<CoreMetadata, "classifiers"> {
  readonly cudaVersion: string | undefined;
}

export interface PythonFileContent {
  readonly core: FoundMetadata;
  /** Only of wheels. */
  readonly place?: MetadataPlace;
  /** The header fields of a source distribution, whose metadata cannot be read from its place. */
  readonly headers?: string;
}

/** Characters of header fields that are stored for a source distribution. */
const MAX_STORED_HEADERS = 32 * 1024;

/** @throws INVALID_ARGUMENT */
export async function readPythonFile({ file, fileName }: PythonFile): Promise<PythonFileContent> {
  const { metadata, place } = await readMetadata(file, fileName);
  const { classifiers, ...core } = parseCoreMetadata(metadata);
  const found = { ...core, cudaVersion: cudaVersionOf({ ...core, classifiers }) };
  return place === undefined ? { core: found, headers: headersOf(metadata) } : { core: found, place };
}

/** The header fields, without the description after the first empty line. Those beyond the limit are left out. */
function headersOf(metadata: Buffer): string {
  const [headers = ""] = metadata
    .toString("utf8")
    .replaceAll("\0", "")
    .split(/\r?\n\r?\n|\r\r/, 1);
  return headers.length <= MAX_STORED_HEADERS ? headers : headers.slice(0, Math.max(0, headers.lastIndexOf("\n", MAX_STORED_HEADERS)));
}

async function readMetadata(
  file: PackageFile,
  fileName: PythonFileName,
): Promise<{ readonly metadata: Buffer; readonly place?: MetadataPlace }> {
  if (fileName.tags === undefined) return { metadata: await readSdist(openBoundedStream(file), file.size, fileName) };
  const { wheel, ...rest } = await withBytes(file, (bytes) => readWheel(bytes, fileName));
  assertTagsAgree(wheel, fileName.tags);
  return rest;
}
