/** Makes a publication of a wheel or a source distribution. The metadata inside must agree with the file's name. */
import { invalidArgument } from "../../lib/errors.ts";
import { stagedBytes } from "../package-archive.ts";
import type { Publication, ReadingContext } from "../publish.ts";
import type { Staged } from "../stage.ts";
import { type CoreMetadata, parseCoreMetadata } from "./core-metadata.ts";
import { normalizeProject, type PythonFileName, parsePythonFileName } from "./python-name.ts";
import { readSdist } from "./read-sdist.ts";
import { type MetadataPlace, readWheel } from "./read-wheel.ts";
import { assertTagsAgree } from "./wheel-tags.ts";

/** The column `metadata` of a file. */
export interface PythonFileMetadata {
  readonly requiresPython: string;
  /** Only of wheels. */
  readonly coreMetadata?: MetadataPlace;
}

/** @throws INVALID_ARGUMENT */
export async function readPythonPackage(staged: Staged, fileName: string, context: ReadingContext): Promise<Publication> {
  const { library, staging, remediatedLabels } = context;
  const parsed = parsePythonFileName(fileName);
  const { metadata, place } = await read(staged, parsed, staging);
  const core = parseCoreMetadata(metadata);
  assertAgrees(core, parsed);
  const { name, version, summary, requiresPython } = core;
  const isWheel = place !== undefined;
  const file: PythonFileMetadata = { requiresPython, ...(isWheel && { coreMetadata: place }) };
  return {
    library,
    name,
    key: normalizeProject(name),
    version: {
      text: version.normalized,
      sortKey: version.sortKey,
      isPreRelease: version.isPreRelease,
      description: summary,
      cudaVersion: cudaVersionOf(core),
      isRemediated: isRemediated(version.local, remediatedLabels),
    },
    path: fileName,
    metadata: { ...file },
    isPlugin: false,
    coreMetadata: isWheel ? undefined : headersOf(metadata),
  };
}

/** Characters of header fields that are stored for a source distribution. */
const MAX_STORED_HEADERS = 32 * 1024;

/** The header fields, without the description after the first empty line. Those beyond the limit are left out. */
function headersOf(metadata: Buffer): string {
  const [headers = ""] = metadata
    .toString("utf8")
    .replaceAll("\0", "")
    .split(/\r?\n\r?\n|\r\r/, 1);
  return headers.length <= MAX_STORED_HEADERS ? headers : headers.slice(0, headers.lastIndexOf("\n", MAX_STORED_HEADERS));
}

async function read(
  staged: Staged,
  parsed: PythonFileName,
  staging: ReadingContext["staging"],
): Promise<{ readonly metadata: Buffer; readonly place?: MetadataPlace }> {
  if (parsed.tags !== undefined) {
    const { wheel, ...rest } = await readWheel(stagedBytes(staged, staging), parsed);
    assertTagsAgree(wheel, parsed.tags);
    return rest;
  }
  return { metadata: await readSdist(await staging.read(staged), staged.size, parsed) };
}

function assertAgrees({ name, version }: CoreMetadata, fileName: PythonFileName): void {
  if (normalizeProject(name) !== normalizeProject(fileName.project))
    throw invalidArgument("content", `the file name says "${fileName.project}", but the metadata says "${name}"`);
  if (version.sortKey !== fileName.version.sortKey)
    throw invalidArgument(
      "content",
      `the file name says version ${fileName.version.normalized}, but the metadata says ${version.normalized}`,
    );
}

/** With the labels `holt` and `remediated`, the local versions `holt.2` and `remediated1` are remediated. Pure. */
export function isRemediated(local: readonly string[], labels: readonly string[]): boolean {
  return local.some((segment) => labels.includes(segment.replace(/\d+$/, "")));
}

/** The CUDA version of a local version such as `+cu121`, or else of the most precise classifier. Pure. */
export function cudaVersionOf({ version, classifiers }: Pick<CoreMetadata, "version" | "classifiers">): string | undefined {
  for (const segment of version.local) {
    const digits = /^cu(\d{2,4})$/.exec(segment)?.[1];
    if (digits !== undefined) return cudaVersionFrom(digits);
  }
  const versions = classifiers
    .filter((classifier) => classifier.startsWith(CUDA_CLASSIFIER))
    .map((classifier) => classifier.split("::").at(-1)?.trim() ?? "")
    .filter((text) => /^\d{1,3}(\.\d{1,3})*$/.test(text));
  return versions.sort((one, other) => other.split(".").length - one.split(".").length || numeric.compare(other, one))[0];
}

const CUDA_CLASSIFIER = "Environment :: GPU :: NVIDIA CUDA ::";
const numeric = new Intl.Collator("en", { numeric: true });

/** `121` is 12.1 and `92` is 9.2, but `12` is any 12.x: no package was ever built for CUDA 1.2. */
function cudaVersionFrom(digits: string): string {
  if (digits.length === 2 && digits.startsWith("1")) return digits;
  const major = digits.length === 2 ? 1 : 2;
  return `${digits.slice(0, major)}.${digits.slice(major)}`;
}
