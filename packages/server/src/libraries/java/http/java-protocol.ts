/** Serves a Maven 2 repository below an owner: files with their checksums, generated metadata, and deletion. */
import { Ecosystem } from "@holt/api/gen/platform/libraries/v2/artifacts_pb.ts";
import { findNamedGroup } from "../../../api/resource/named-groups.ts";
import { Code, HoltError, notFound } from "../../../lib/errors.ts";
import { assertMethod, type LibraryParts, type LibraryRequest, openForPublishing, openForReading } from "../../http/library-request.ts";
import type { Library } from "../../library.ts";
import { METADATA, parseMavenFile, splitChecksum } from "../maven-path.ts";
import { attempt } from "./attempt.ts";
import { deleteFile, deleteVersion } from "./delete.ts";
import { sendChecksum, sendFile } from "./files.ts";
import { discardMetadata, sendMetadata } from "./metadata.ts";
import { checkChecksum, receiveFile } from "./upload.ts";

export async function serveJava(exchange: LibraryRequest, parts: LibraryParts): Promise<void> {
  assertMethod(exchange, "GET", "HEAD", "PUT", "DELETE");
  if (exchange.method === "PUT") return put(exchange, await openForPublishing(exchange, Ecosystem.JAVA, parts), parts);
  if (exchange.method === "DELETE") return remove(exchange, await openForPublishing(exchange, Ecosystem.JAVA, parts), parts);
  const library = await openForReading(exchange, Ecosystem.JAVA, parts);
  return get(exchange, library, parts).catch((error: unknown) => explainFolder(error, exchange, parts));
}

/**
 * Maven's own paths have slashes, so only a colon can separate the folders of an owner. Tells a client that wrote a slash.
 * @throws the error, with a hint where a folder has the name of the first segment
 */
async function explainFolder(error: unknown, { owner, path, caller }: LibraryRequest, { store }: LibraryParts): Promise<never> {
  const [first = ""] = path;
  if (!(error instanceof HoltError) || error.code !== Code.NOT_FOUND || first === "") throw error;
  const folder = await findNamedGroup(store.reader, [...owner.split(":"), first], caller.access).catch(() => undefined);
  if (folder === undefined) throw error;
  throw new HoltError(Code.NOT_FOUND, `${error.message}; a folder of an owner follows a colon: ${owner}:${first}`, error.details);
}

async function get(exchange: LibraryRequest, library: Library, parts: LibraryParts): Promise<void> {
  const { about, algorithm } = splitChecksum(exchange.path.at(-1) ?? "");
  if (about === METADATA) return sendMetadata(exchange, library, algorithm, parts);
  const file = attempt(() => parseMavenFile([...exchange.path.slice(0, -1), about]));
  if (file === undefined) throw notFound("File", exchange.path.join("/").slice(0, 300));
  return algorithm === undefined ? sendFile(exchange, library, file, parts) : sendChecksum(exchange, library, { file, algorithm }, parts);
}

function put(exchange: LibraryRequest, library: Library, parts: LibraryParts): Promise<void> {
  const { about, algorithm } = splitChecksum(exchange.path.at(-1) ?? "");
  if (about === METADATA) return discardMetadata(exchange);
  const file = parseMavenFile([...exchange.path.slice(0, -1), about]);
  return algorithm === undefined
    ? receiveFile(exchange, library, file, parts)
    : checkChecksum(exchange, library, { file, algorithm }, parts);
}

function remove(exchange: LibraryRequest, library: Library, parts: LibraryParts): Promise<void> {
  const { path } = exchange;
  const folder = path.at(-1) === "" ? path.slice(0, -1) : path;
  if (folder === path) {
    const file = attempt(() => parseMavenFile(path));
    if (file !== undefined) return deleteFile(exchange, library, file, parts);
  }
  return deleteVersion(exchange, library, folder, parts);
}
