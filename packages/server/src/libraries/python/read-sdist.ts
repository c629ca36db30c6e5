/** Reads what a source distribution says of itself out of its bytes, as a stream, and refuses archives that are made to harm who unpacks them. */
import { posix } from "node:path";
import type { Readable } from "node:stream";
import { pipeline } from "node:stream/promises";
import { createGunzip } from "node:zlib";
import { extract, type Header } from "tar-stream";
import { BoundedStream } from "../../lib/bounded-stream.ts";
import { HoltError, invalidArgument } from "../../lib/errors.ts";
import { parsePythonVersion } from "../../lib/version-order/python.ts";
import { MAX_METADATA } from "./core-metadata.ts";
import { normalizeProject, type PythonFileName } from "./python-name.ts";

const MAX_ENTRIES = 200_000;
/** Archives that unpack to more than this must not be much smaller themselves. */
const HARMLESS_BYTES = 64 * 1024 * 1024;
const MAX_RATIO = 50;

/** PKG-INFO. @throws INVALID_ARGUMENT that says what is wrong with it */
export async function readSdist(bytes: Readable, size: number, fileName: PythonFileName): Promise<Buffer> {
  // A file that is being read when the rest fails says so later, when the pipeline does not listen any more.
  bytes.on("error", () => {});
  let found: Buffer | undefined;
  let entries = 0;
  const archive = extract();
  archive.on("entry", (header, content, next) => {
    // It fails with the archive, which says so itself.
    content.on("error", () => {});
    if (++entries > MAX_ENTRIES) return next(refused(`it has more than ${MAX_ENTRIES} entries`));
    const problem = problemOf(header);
    if (problem !== undefined) return next(refused(problem));
    if (!isPackageInfo(header, fileName)) {
      content.once("end", next).resume();
      return;
    }
    if (found !== undefined) return next(refused("it has PKG-INFO more than once"));
    if ((header.size ?? 0) > MAX_METADATA) return next(refused(`its PKG-INFO is larger than ${MAX_METADATA} bytes`));
    const pieces: Buffer[] = [];
    content.on("data", (piece) => pieces.push(piece as Buffer));
    content.once("end", () => {
      found = Buffer.concat(pieces);
      next();
    });
  });
  const tooMuch = () => refused(`it unpacks to more than ${MAX_RATIO} times its size`);
  try {
    await pipeline(bytes, createGunzip(), new BoundedStream(Math.max(HARMLESS_BYTES, size * MAX_RATIO), tooMuch), archive);
  } catch (error) {
    // That of the disk is not the archive's fault.
    if (error instanceof HoltError || "syscall" in (error as Error)) throw error;
    throw Object.assign(refused(`it is no good tar.gz archive (${(error as Error).message.slice(0, 200)})`), { cause: error });
  }
  if (found === undefined) throw refused("it needs PKG-INFO in its folder name-version");
  return found;
}

function problemOf({ name, type, linkname }: Header): string | undefined {
  if (leadsOut(name)) return `an entry's path leads out of its folder: "${name.slice(0, 100)}"`;
  if (type === "character-device" || type === "block-device" || type === "fifo")
    return "it has an entry that is neither a file nor a folder";
  if ((type === "symlink" || type === "link") && linkLeadsOut(name, type, linkname ?? ""))
    return `it has a link that leads out of its folder: "${name.slice(0, 100)}"`;
  return undefined;
}

/** A symbolic link counts from where it is, a hard link from the archive's root. Both stay in the folder that everything is in. */
function linkLeadsOut(name: string, type: "symlink" | "link", linkname: string): boolean {
  const target = type === "link" ? linkname : posix.join(posix.dirname(name), linkname);
  return linkname.startsWith("/") || leadsOut(posix.normalize(target)) || topOf(target) !== topOf(name);
}

function topOf(path: string): string | undefined {
  return posix.normalize(path).split("/")[0];
}

function leadsOut(path: string): boolean {
  return path.startsWith("/") || path.includes("\\") || path.includes("\0") || path.split("/").includes("..");
}

function isPackageInfo({ name, type }: Header, fileName: PythonFileName): boolean {
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

function refused(description: string): HoltError {
  return invalidArgument("content", `the source distribution cannot be used: ${description}`);
}
