/** From the bytes of a wheel or a source distribution to what is published of them. What the package says of itself must agree with its name. */
import { invalidArgument } from "../../lib/errors.ts";
import type { Library } from "../library.ts";
import { stagedBytes } from "../package-archive.ts";
import type { Publication } from "../publish.ts";
import type { Staged, Staging } from "../stage.ts";
import { type CoreMetadata, parseCoreMetadata } from "./core-metadata.ts";
import { normalizeProject, type PythonFileName, parsePythonFileName } from "./python-name.ts";
import { readSdist } from "./read-sdist.ts";
import { type MetadataPlace, readWheel } from "./read-wheel.ts";
import { assertTagsAgree } from "./wheel-tags.ts";

/** Of a file, in the column `metadata`. */
export interface PythonFileMetadata {
  readonly requiresPython: string;
  /** Of wheels. */
  readonly coreMetadata?: MetadataPlace;
}

/**
 * @param remediatedLabels beginnings of local labels of versions in which vulnerabilities were patched
 * @throws INVALID_ARGUMENT
 */
export async function readPythonPackage(
  staged: Staged,
  fileName: string,
  library: Library,
  staging: Staging,
  remediatedLabels: readonly string[],
): Promise<Publication> {
  const parsed = parsePythonFileName(fileName);
  const { metadata, place } = await read(staged, parsed, staging);
  const core = parseCoreMetadata(metadata);
  assertAgrees(core, parsed);
  const { name, version, summary, requiresPython } = core;
  const file: PythonFileMetadata = { requiresPython, ...(place !== undefined && { coreMetadata: place }) };
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
  };
}

async function read(
  staged: Staged,
  parsed: PythonFileName,
  staging: Staging,
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
    throw invalidArgument("content", `the file's name says "${fileName.project}", and its metadata "${name}"`);
  if (version.sortKey !== fileName.version.sortKey)
    throw invalidArgument("content", `the file's name says version ${fileName.version.normalized}, and its metadata ${version.normalized}`);
}

/** `+holt.2` or `+remediated1`, for the labels `holt` and `remediated`. Pure. */
export function isRemediated(local: readonly string[], labels: readonly string[]): boolean {
  return local.some((segment) => labels.includes(segment.replace(/\d+$/, "")));
}

/** Of the local label `+cu121`, or else of the most exact classifier. Pure. */
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

/** `121` is 12.1, `92` is 9.2, and `12` is any 12: there was never a 1.2 that anybody built for. */
function cudaVersionFrom(digits: string): string {
  if (digits.length === 2 && digits.startsWith("1")) return digits;
  const major = digits.length === 2 ? 1 : 2;
  return `${digits.slice(0, major)}.${digits.slice(major)}`;
}
