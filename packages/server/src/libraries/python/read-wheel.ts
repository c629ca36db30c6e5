/** Reads what a wheel says of itself out of its bytes, of which it needs few, and refuses archives that are made to harm who unpacks them. */
import { createHash } from "node:crypto";
import { buffer } from "node:stream/consumers";
import { type Entry, fromRandomAccessReaderPromise, type ZipFile } from "yauzl";
import { HoltError, invalidArgument } from "../../lib/errors.ts";
import { parsePythonVersion } from "../../lib/version-order/python.ts";
import { type ReadRange, WindowReader } from "../zip-window.ts";
import { MAX_METADATA } from "./core-metadata.ts";
import { normalizeProject, type PythonFileName } from "./python-name.ts";

/** Where METADATA is in the wheel, so that it can be served out of it. */
export interface MetadataPlace {
  readonly sha256: string;
  readonly size: number;
  readonly start: number;
  readonly end: number;
  readonly isDeflated: boolean;
}

/** Far more than the largest real wheels have. */
const MAX_ENTRIES = 200_000;
/** Archives that unpack to more than this must not be much smaller themselves. */
const HARMLESS_BYTES = 64 * 1024 * 1024;
const MAX_RATIO = 50;
/** Of the record at the end, and of that with those of ZIP64. */
const END_SIZES = [22, 22 + 20 + 56];
const DEFLATED = 8;
const STORED = 0;

/** @throws INVALID_ARGUMENT that says what is wrong with it */
export async function readWheel(
  read: ReadRange,
  size: number,
  fileName: PythonFileName,
): Promise<{ readonly metadata: Buffer; readonly wheel: Buffer; readonly place: MetadataPlace }> {
  const reader = new WindowReader(read, size);
  try {
    const zip = await fromRandomAccessReaderPromise(reader, size, { autoClose: false, strictFileNames: true });
    const { metadata: entry, wheel: wheelEntry } = await distInfoOf(zip, size, fileName);
    const metadata = await contentOf(zip, entry, "METADATA");
    const wheel = await contentOf(zip, wheelEntry, "WHEEL");
    const { fileDataStart: start } = await zip.readLocalFileHeaderPromise(entry, { minimal: true });
    const sha256 = createHash("sha256").update(metadata).digest("hex");
    const end = start + entry.compressedSize - 1;
    return { metadata, wheel, place: { sha256, size: metadata.length, start, end, isDeflated: entry.compressionMethod === DEFLATED } };
  } catch (error) {
    if (reader.failure !== undefined) throw reader.failure;
    // That of the disk is not the archive's fault either.
    if (error instanceof HoltError || "syscall" in (error as Error)) throw error;
    throw Object.assign(refused(`it is no good zip archive (${(error as Error).message.slice(0, 200)})`), { cause: error });
  }
}

/** Looks at every entry: none may lead out of the folder, or be hidden behind another of its name. */
async function distInfoOf(
  zip: ZipFile,
  size: number,
  fileName: PythonFileName,
): Promise<{ readonly metadata: Entry; readonly wheel: Entry }> {
  if (zip.entryCount > MAX_ENTRIES) throw refused(`it has more than ${MAX_ENTRIES} entries`);
  const found = new Map<string, Entry>();
  let [packed, unpacked] = [0, 0];
  for await (const entry of zip.eachEntry()) {
    packed += entry.compressedSize;
    unpacked += entry.uncompressedSize;
    if (packed > size) throw refused("its entries overlap");
    if (unpacked > HARMLESS_BYTES && unpacked > size * MAX_RATIO) throw refused(`it unpacks to more than ${MAX_RATIO} times its size`);
    const [folder = "", file = "", ...deeper] = entry.fileName.split("/");
    if (!folder.endsWith(".dist-info") || deeper.length > 0 || !["METADATA", "WHEEL", "RECORD"].includes(file)) continue;
    if (!isFolderOf(folder.slice(0, -".dist-info".length), fileName))
      throw refused(`it has a folder "${folder.slice(0, 200)}" of another package`);
    if (found.has(file)) throw refused(`it has ${file} more than once`);
    found.set(file, entry);
  }
  // What stands between the directory and its end is another archive to who reads it from the front.
  const rest = size - Number(zip.readEntryCursor) - zip.comment.length;
  if (!END_SIZES.includes(rest)) throw refused("its directory does not end where the file does");
  const [metadata, wheel] = [found.get("METADATA"), found.get("WHEEL")];
  if (metadata === undefined || wheel === undefined || !found.has("RECORD"))
    throw refused("it needs METADATA, WHEEL and RECORD in its .dist-info folder");
  return { metadata, wheel };
}

function isFolderOf(name: string, { project, version }: PythonFileName): boolean {
  const hyphen = name.indexOf("-");
  return (
    normalizeProject(name.slice(0, hyphen)) === normalizeProject(project) &&
    parsePythonVersion(name.slice(hyphen + 1))?.sortKey === version.sortKey
  );
}

async function contentOf(zip: ZipFile, entry: Entry, name: string): Promise<Buffer> {
  if (entry.uncompressedSize > MAX_METADATA) throw refused(`its ${name} is larger than ${MAX_METADATA} bytes`);
  if (entry.isEncrypted() || ![STORED, DEFLATED].includes(entry.compressionMethod))
    throw refused(`its ${name} is encrypted, or compressed in a way that is not known here`);
  // The stream ends with an error where it has more or fewer bytes than announced.
  return buffer(await zip.openReadStreamPromise(entry));
}

function refused(description: string): HoltError {
  return invalidArgument("content", `the wheel cannot be used: ${description}`);
}
