/** The files in a zip archive, as imports read them: a file with a problem is reported and left out. */
import { ArchiveError } from "../../archives/limits.ts";
import type { RandomAccessBytes } from "../../archives/random-access-bytes.ts";
import { ZipArchive, type ZipEntry } from "../../archives/zip-archive.ts";
import { recoverZip } from "../../archives/zip-recovery.ts";
import { MAX_DOCUMENT } from "./document-limits.ts";
import { ESCAPING_PATH, type FileContext, IMPORT_LIMITS, type ImportFile, SMALL_FILE } from "./import-file.ts";

/** Names in problems are cut to this length. */
const MAX_NAME = 1000;

/** @throws only if the source cannot be read */
export async function* filesInZip(bytes: RandomAccessBytes, name: string, context: FileContext): AsyncGenerator<ImportFile> {
  const zip = await ZipArchive.open(bytes, IMPORT_LIMITS).catch(ignoreArchiveError);
  try {
    if (zip === undefined) yield* recoveredFiles(bytes, name, context);
    else yield* listedFiles(zip, name, context);
  } catch (error) {
    if (!(error instanceof ArchiveError)) throw error;
    context.report(name, `${error.message}; the rest is not read`);
  }
}

async function* listedFiles(zip: ZipArchive, name: string, context: FileContext): AsyncGenerator<ImportFile> {
  for await (const entry of zip.entries()) {
    const path = entryName(name, entry.path);
    context.advance(entry.compressedSize);
    if (path.endsWith("/")) continue;
    const content = findProblem(entry) ?? (await contentOf(zip, entry));
    if (typeof content === "string") context.report(path, content);
    else yield { name: path, content, isExplicit: false };
  }
}

async function* recoveredFiles(bytes: RandomAccessBytes, name: string, context: FileContext): AsyncGenerator<ImportFile> {
  context.report(name, "the directory at the end of this zip archive is missing or damaged; the files before the damage are read");
  for await (const file of recoverZip(bytes, { limits: IMPORT_LIMITS, maxFileBytes: MAX_DOCUMENT })) {
    const path = entryName(name, file.path);
    context.advance(file.archiveBytes);
    if (typeof file.content === "string") context.report(path, file.content);
    else if (file.escapes) context.report(path, ESCAPING_PATH);
    else if (!path.endsWith("/")) yield { name: path, content: file.content, isExplicit: false };
  }
}

function findProblem(entry: ZipEntry): string | undefined {
  if (entry.escapes) return ESCAPING_PATH;
  if (entry.isSymbolicLink) return "symbolic links are not followed";
  if (entry.isEncrypted) return "encrypted files are not supported";
  return entry.unknownMethod === undefined ? undefined : `unknown compression method ${entry.unknownMethod}`;
}

/** A string says why the content cannot be used. */
async function contentOf(zip: ZipArchive, entry: ZipEntry): Promise<ImportFile["content"] | string> {
  if (Math.max(entry.expandedSize, entry.compressedSize) > SMALL_FILE) return zip.stream(entry);
  try {
    return await zip.read(entry, SMALL_FILE);
  } catch (error) {
    if (error instanceof ArchiveError) return error.message;
    throw error;
  }
}

function entryName(archive: string, path: string): string {
  return `${archive}!${path.slice(0, MAX_NAME)}`;
}

function ignoreArchiveError(error: unknown): undefined {
  if (!(error instanceof ArchiveError)) throw error;
}
