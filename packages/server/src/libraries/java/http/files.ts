/** Serves files of the Maven layout, or ranges of them, and their checksums. */
import type { ReadDb } from "../../../db/store.ts";
import type { Headers } from "../../../http/http-exchange.ts";
import { sendBlob } from "../../../http/send-blob.ts";
import { notFound } from "../../../lib/errors.ts";
import type { FoundFile } from "../../find-file.ts";
import { answerText, type LibraryParts, type LibraryRequest } from "../../http/library-request.ts";
import type { Library } from "../../library.ts";
import { findMavenFile } from "../find-maven.ts";
import { checksumOfFile } from "../maven-checksum.ts";
import { type MavenChecksum, type MavenFile, pathInArtifact } from "../maven-path.ts";

/** Access is checked on each request. Browsers must not run published content. */
const COMMON = { "cache-control": "private, no-cache", "content-security-policy": "sandbox" };

const TYPES: ReadonlyMap<string, string> = new Map([
  ["jar", "application/java-archive"],
  ["war", "application/java-archive"],
  ["pom", "application/xml"],
  ["xml", "application/xml"],
  ["module", "application/json"],
  ["asc", "text/plain"],
]);

export async function sendFile(exchange: LibraryRequest, library: Library, path: MavenFile, parts: LibraryParts): Promise<void> {
  const file = await findFile(parts.store.reader, library, path);
  const etag = checksumOfFile(file, "sha256");
  await sendBlob(exchange, { digest: file.digest, size: file.size, etag, headers: headersOf(path, file) }, parts);
}

/** Maven uses the checksums in these headers and saves a request. */
function headersOf({ fileName }: MavenFile, file: FoundFile): Headers {
  return {
    ...COMMON,
    "last-modified": new Date(file.create_time).toUTCString(),
    "content-type": TYPES.get(fileName.split(".").at(-1) ?? "") ?? "application/octet-stream",
    "x-checksum-md5": file.md5,
    "x-checksum-sha1": file.sha1,
    "x-checksum-sha256": checksumOfFile(file, "sha256"),
    "x-checksum-sha512": file.sha512,
  };
}

export async function sendChecksum(
  exchange: LibraryRequest,
  library: Library,
  { file, algorithm }: MavenChecksum,
  { store }: LibraryParts,
): Promise<void> {
  answerText(exchange, "text/plain", checksumOfFile(await findFile(store.reader, library, file), algorithm), COMMON);
}

async function findFile(db: ReadDb, library: Library, path: MavenFile): Promise<FoundFile> {
  const file = await findMavenFile(db, library, path);
  if (file === undefined) throw notFound("File", pathInArtifact(path));
  return file;
}
