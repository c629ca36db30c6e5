/** Makes a publication of a wheel or a source distribution. The metadata inside must agree with the file's name. */
import { invalidArgument } from "../../lib/errors.ts";
import type { Publication, ReadingContext } from "../publication.ts";
import type { Staged } from "../stage.ts";
import { pythonFileParser } from "./python-file-parser.ts";
import { normalizeProject, type PythonFileName, parsePythonFileName } from "./python-name.ts";
import type { FoundMetadata } from "./read-python-file.ts";
import type { MetadataPlace } from "./read-wheel.ts";

/** The column `metadata` of a file. */
export interface PythonFileMetadata {
  readonly requiresPython: string;
  /** Only of wheels. */
  readonly coreMetadata?: MetadataPlace;
}

/** @throws INVALID_ARGUMENT */
export async function readPythonPackage(staged: Staged, fileName: string, context: ReadingContext): Promise<Publication> {
  const { library, staging, parsers, publisher, remediatedLabels } = context;
  const parsed = parsePythonFileName(fileName);
  const { core, place, headers } = await staging.withFile(staged, (file) =>
    parsers.run(pythonFileParser, { file, fileName: parsed }, publisher),
  );
  assertAgrees(core, parsed);
  const { name, version, summary, requiresPython, cudaVersion } = core;
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
      cudaVersion,
      isRemediated: isRemediated(version.local, remediatedLabels),
    },
    path: fileName,
    metadata: { ...file },
    isPlugin: false,
    coreMetadata: headers,
  };
}

function assertAgrees({ name, version }: FoundMetadata, fileName: PythonFileName): void {
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
