/** Serves a Maven 2 repository below an owner: files with their checksums, generated metadata, and deletion. */
import { Ecosystem } from "@holt/api/gen/platform/libraries/v2/artifacts_pb.ts";
import { notFound } from "../../../lib/errors.ts";
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
  return get(exchange, await openForReading(exchange, Ecosystem.JAVA, parts), parts);
}

function get(exchange: LibraryRequest, library: Library, parts: LibraryParts): Promise<void> {
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
