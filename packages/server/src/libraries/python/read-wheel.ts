/** Reads METADATA and WHEEL from a wheel in place, and refuses archives that could harm the tools that unpack them. */
import { ArchiveError } from "../../archives/limits.ts";
import type { RandomAccessBytes } from "../../archives/random-access-bytes.ts";
import { ZipArchive, type ZipEntry } from "../../archives/zip-archive.ts";
import { type HoltError, invalidArgument } from "../../lib/errors.ts";
import { sha256Hex } from "../../lib/sha256.ts";
import { parsePythonVersion } from "../../lib/version-order/python.ts";
import { PYTHON_LIMITS } from "../package-archive.ts";
import { MAX_METADATA } from "./core-metadata.ts";
import { normalizeProject, type PythonFileName } from "./python-name.ts";

/** The position of METADATA in the wheel, so that it can be served from there. Both ends are inclusive. */
export interface MetadataPlace {
  readonly sha256: string;
  readonly size: number;
  readonly start: number;
  readonly end: number;
  readonly isDeflated: boolean;
}

export interface WheelContent {
  readonly metadata: Buffer;
  readonly wheel: Buffer;
  readonly place: MetadataPlace;
}

/** Files of the .dist-info folder that every wheel has. */
const REQUIRED_FILES = ["METADATA", "WHEEL", "RECORD"];

/** @throws INVALID_ARGUMENT that says what is wrong with the wheel */
export async function readWheel(bytes: RandomAccessBytes, fileName: PythonFileName): Promise<WheelContent> {
  try {
    const zip = await ZipArchive.open(bytes, PYTHON_LIMITS);
    const { metadata: entry, wheel: wheelEntry } = await findDistInfo(zip, fileName);
    const metadata = await readEntry(zip, entry, "METADATA");
    const wheel = await readEntry(zip, wheelEntry, "WHEEL");
    const sha256 = sha256Hex(metadata);
    return { metadata, wheel, place: { sha256, size: metadata.length, ...(await zip.locate(entry)), isDeflated: entry.isDeflated } };
  } catch (error) {
    if (!(error instanceof ArchiveError)) throw error;
    throw Object.assign(refusal(error.message), { cause: error });
  }
}

/** Checks every entry: no path may lead out of the archive, none may have two, and no second entry may have the name of a required file. */
async function findDistInfo(zip: ZipArchive, fileName: PythonFileName): Promise<{ readonly metadata: ZipEntry; readonly wheel: ZipEntry }> {
  zip.assertEntryCount();
  const found = new Map<string, ZipEntry>();
  for await (const entry of zip.entries()) {
    if (entry.escapes) throw refusal(`an entry's path leads out of the archive: "${entry.path.slice(0, 100)}"`);
    if (entry.hasTwoPaths) throw refusal(`an entry has two paths: "${entry.path.slice(0, 100)}"`);
    const [folder = "", file = "", ...deeper] = entry.path.split("/");
    if (!folder.endsWith(".dist-info") || deeper.length > 0 || !REQUIRED_FILES.includes(file)) continue;
    if (!isFolderOf(folder.slice(0, -".dist-info".length), fileName))
      throw refusal(`the folder "${folder.slice(0, 200)}" belongs to another package`);
    if (found.has(file)) throw refusal(`${file} occurs more than once`);
    found.set(file, entry);
  }
  if (!zip.endsWithDirectory()) throw refusal("the zip directory does not end where the file does");
  const metadata = found.get("METADATA");
  const wheel = found.get("WHEEL");
  if (metadata === undefined || wheel === undefined || !found.has("RECORD"))
    throw refusal("the .dist-info folder must have METADATA, WHEEL and RECORD");
  return { metadata, wheel };
}

function isFolderOf(name: string, { project, version }: PythonFileName): boolean {
  const hyphen = name.indexOf("-");
  return (
    normalizeProject(name.slice(0, hyphen)) === normalizeProject(project) &&
    parsePythonVersion(name.slice(hyphen + 1))?.sortKey === version.sortKey
  );
}

async function readEntry(zip: ZipArchive, entry: ZipEntry, name: string): Promise<Buffer> {
  if (entry.expandedSize > MAX_METADATA) throw refusal(`${name} is larger than ${MAX_METADATA} bytes`);
  if (entry.isEncrypted || entry.unknownMethod !== undefined) throw refusal(`${name} is encrypted, or compressed with an unknown method`);
  return zip.read(entry, MAX_METADATA);
}

function refusal(reason: string): HoltError {
  return invalidArgument("content", `the wheel cannot be used: ${reason}`);
}
