/** Serves `files/<sha256>/<name>`: wheels and source distributions, or ranges of them, and the metadata of wheels (PEP 658). */
import { createInflateRaw } from "node:zlib";
import { Ecosystem } from "@holt/api/gen/platform/libraries/v2/artifacts_pb.ts";
import type { ReadDb } from "../../../db/store.ts";
import { begin } from "../../../http/http-exchange.ts";
import { isKnown, sendBlob } from "../../../http/send-blob.ts";
import { notFound } from "../../../lib/errors.ts";
import { isPythonPreRelease } from "../../../lib/version-order/python.ts";
import {
  answer,
  answerStream,
  assertMethod,
  changeBy,
  type LibraryParts,
  type LibraryRequest,
  openForPublishing,
  openForReading,
} from "../../http/library-request.ts";
import type { Library } from "../../library.ts";
import { removeFiles } from "../../remove.ts";
import { metadataOf } from "../simple-pages.ts";

/** Published files never change. Only the client may cache them, because access is checked on each request. */
const CACHING = { "cache-control": "private, max-age=31536000, immutable" };
const METADATA = ".metadata";

export async function serveFile(exchange: LibraryRequest, sha256: string, name: string, parts: LibraryParts): Promise<void> {
  assertMethod(exchange, "GET", "HEAD", "DELETE");
  if (exchange.method === "DELETE") return deleteFile(exchange, sha256, name, parts);
  const library = await openForReading(exchange, Ecosystem.PYTHON, parts);
  if (name.endsWith(METADATA)) return sendMetadata(exchange, library, { sha256, name: name.slice(0, -METADATA.length) }, parts);
  const file = await findFile(parts.store.reader, library, { sha256, name });
  const headers = { ...CACHING, "content-type": name.endsWith(".whl") ? "application/zip" : "application/gzip" };
  await sendBlob(exchange, { digest: file.digest, size: file.size, etag: sha256, headers }, parts);
}

/** Streams METADATA from its position in the wheel. */
async function sendMetadata(exchange: LibraryRequest, library: Library, path: FilePath, parts: LibraryParts): Promise<void> {
  const file = await findFile(parts.store.reader, library, path);
  const place = metadataOf(file).coreMetadata;
  if (place === undefined) throw notFound("Metadata", path.name);
  const headers = { ...CACHING, etag: `"${place.sha256}"`, "content-type": "text/plain; charset=utf-8" };
  const { request, response, method } = exchange;
  if (isKnown(request, place.sha256)) return answer(exchange, 304, headers);
  if (method === "HEAD") return answer(exchange, 200, { ...headers, "content-length": place.size });
  const bytes = await parts.blobs.read(file.digest, { start: place.start, end: place.end });
  begin(response, 200, { ...headers, "content-length": place.size });
  await answerStream(exchange, bytes, ...(place.isDeflated ? [createInflateRaw()] : []));
}

async function deleteFile(exchange: LibraryRequest, sha256: string, name: string, parts: LibraryParts): Promise<void> {
  const library = await openForPublishing(exchange, Ecosystem.PYTHON, parts);
  const { key, digest } = await findFile(parts.store.reader, library, { sha256, name });
  const options = { store: parts.store, isPreRelease: isPythonPreRelease };
  await removeFiles({ library, key }, { path: name, digest }, changeBy(exchange, parts), options);
  answer(exchange, 204);
}

interface FilePath {
  readonly sha256: string;
  readonly name: string;
}

interface FoundFile {
  readonly key: string;
  readonly digest: string;
  readonly size: number;
  readonly metadata: string;
}

async function findFile(db: ReadDb, { groupUid }: Library, { sha256, name }: FilePath): Promise<FoundFile> {
  const file = await db
    .selectFrom("library_file as f")
    .innerJoin("library_artifact as a", "a.uid", "f.artifact_uid")
    .select(["a.key", "f.digest", "f.size", "f.metadata"])
    .where("f.digest", "=", `sha256:${sha256}`)
    .where("f.path", "=", name)
    .where("a.parent", "=", groupUid)
    .where("a.ecosystem", "=", Ecosystem.PYTHON)
    .executeTakeFirst();
  if (file === undefined) throw notFound("File", name.slice(0, 255));
  return file;
}
