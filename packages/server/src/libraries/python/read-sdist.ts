/** Reads PKG-INFO from a source distribution as a stream, and refuses archives that could harm the tools that unpack them. */
import type { Readable } from "node:stream";
import { buffer } from "node:stream/consumers";
import { decompress } from "../../archives/decompress.ts";
import { escapesRoot } from "../../archives/entry-path.ts";
import { ArchiveError, ArchiveMeter } from "../../archives/limits.ts";
import { type TarHeader, tarEntries } from "../../archives/tar-entries.ts";
import { unambiguousTar } from "../../archives/unambiguous-tar.ts";
import { type HoltError, invalidArgument } from "../../lib/errors.ts";
import { parsePythonVersion } from "../../lib/version-order/python.ts";
import { PYTHON_LIMITS } from "../package-archive.ts";
import { MAX_METADATA } from "./core-metadata.ts";
import { normalizeProject, type PythonFileName } from "./python-name.ts";
import { SdistLinks } from "./sdist-links.ts";

/** Returns PKG-INFO. @param size of `bytes`. @throws INVALID_ARGUMENT that says what is wrong with the source distribution */
export async function readSdist(bytes: Readable, size: number, fileName: PythonFileName): Promise<Buffer> {
  // A read that is under way when parsing fails can fail later, when nobody listens.
  bytes.on("error", () => {});
  try {
    const packageInfo = await findPackageInfo(bytes, size, fileName);
    if (packageInfo === undefined) throw refusal("the folder name-version must have PKG-INFO");
    return packageInfo;
  } catch (error) {
    if (!(error instanceof ArchiveError)) throw error;
    throw Object.assign(refusal(error.message), { cause: error });
  }
}

/** Reads to the end, so that every entry is checked. */
async function findPackageInfo(bytes: Readable, size: number, fileName: PythonFileName): Promise<Buffer | undefined> {
  const meter = new ArchiveMeter(PYTHON_LIMITS, size);
  const links = new SdistLinks();
  let found: Buffer | undefined;
  for await (const { header, content } of tarEntries(unambiguousTar(decompress(bytes, "gzip", meter)), meter)) {
    const problem = findProblem(header) ?? links.findProblem(header);
    if (problem !== undefined) throw refusal(problem);
    if (!isPackageInfo(header, fileName)) continue;
    if (found !== undefined) throw refusal("PKG-INFO occurs more than once");
    if ((header.size ?? 0) > MAX_METADATA) throw refusal(`PKG-INFO is larger than ${MAX_METADATA} bytes`);
    found = await buffer(content);
  }
  return found;
}

function findProblem({ name, type }: TarHeader): string | undefined {
  if (escapesRoot(name, PYTHON_LIMITS.paths)) return `an entry's path leads out of the archive: "${name.slice(0, 100)}"`;
  if (type === "character-device" || type === "block-device" || type === "fifo") return "an entry is neither a file nor a folder";
  return undefined;
}

function isPackageInfo({ name, type }: TarHeader, fileName: PythonFileName): boolean {
  const [folder = "", file, ...deeper] = name.replace(/^\.\//, "").split("/");
  const hyphen = folder.lastIndexOf("-");
  return (
    type === "file" &&
    file === "PKG-INFO" &&
    deeper.length === 0 &&
    normalizeProject(folder.slice(0, hyphen)) === normalizeProject(fileName.project) &&
    parsePythonVersion(folder.slice(hyphen + 1))?.sortKey === fileName.version.sortKey
  );
}

function refusal(reason: string): HoltError {
  return invalidArgument("content", `the source distribution cannot be used: ${reason}`);
}
