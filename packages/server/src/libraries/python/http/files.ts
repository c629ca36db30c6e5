/**
 * Serves `files/<sha256>/<name>`: wheels and source distributions, or ranges of them, the metadata of wheels (PEP 658) and the
 * attestations of files (PEP 740).
 */
import { createInflateRaw } from "node:zlib";
import { Ecosystem } from "@holt/api/gen/platform/libraries/v2/artifacts_pb.ts";
import type { ReadDb } from "../../../db/store.ts";
import { isKnown } from "../../../http/conditional-request.ts";
import { begin } from "../../../http/http-exchange.ts";
import { sendBlob } from "../../../http/send-blob.ts";
import { notFound } from "../../../lib/errors.ts";
import { isPythonPreRelease } from "../../../lib/version-order/python.ts";
import {
  answer,
  answerStream,
  answerText,
  assertMethod,
  changeBy,
  type LibraryParts,
  type LibraryRequest,
  openForPublishing,
  openForReading,
} from "../../http/library-request.ts";
import type { Library, OpenLibrary } from "../../library.ts";
import { removeFiles } from "../../remove.ts";
import { assertOffersFiles, type StoredStatus } from "../project-settings.ts";
import { anonymousProvenance, readProvenance } from "../provenance.ts";
import { metadataOf } from "../simple-pages.ts";

/** Published files never change. Only the client may cache them, because access is checked on each request. */
const CACHING = { "cache-control": "private, max-age=31536000, immutable" };
/** Attestations can be added to a published file. */
const REVALIDATED = { "cache-control": "private, no-cache" };
const METADATA = ".metadata";
const PROVENANCE = ".provenance";
const PROVENANCE_TYPE = "application/vnd.pypi.integrity.v1+json";

export async function serveFile(exchange: LibraryRequest, sha256: string, name: string, parts: LibraryParts): Promise<void> {
  assertMethod(exchange, "GET", "HEAD", "DELETE");
  if (exchange.method === "DELETE") return deleteFile(exchange, sha256, name, parts);
  const library = await openForReading(exchange, Ecosystem.PYTHON, parts);
  if (name.endsWith(METADATA)) return sendMetadata(exchange, library, { sha256, name: name.slice(0, -METADATA.length) }, parts);
  if (name.endsWith(PROVENANCE)) return sendProvenance(exchange, library, { sha256, name: name.slice(0, -PROVENANCE.length) }, parts);
  const file = await findOfferedFile(parts.store.reader, library, { sha256, name });
  const headers = { ...CACHING, "content-type": name.endsWith(".whl") ? "application/zip" : "application/gzip" };
  await sendBlob(exchange, { digest: file.digest, size: file.size, etag: sha256, headers }, parts);
}

/** Streams METADATA from its position in the wheel. */
async function sendMetadata(exchange: LibraryRequest, library: Library, path: FilePath, parts: LibraryParts): Promise<void> {
  const file = await findOfferedFile(parts.store.reader, library, path);
  const place = metadataOf(file).coreMetadata;
  if (place === undefined) throw notFound("Metadata", path.name);
  const headers = { ...CACHING, etag: `"${place.sha256}"`, "content-type": "text/plain; charset=utf-8" };
  const { request, response, method } = exchange;
  if (isKnown(request, { etags: [headers.etag] })) return answer(exchange, 304, headers);
  if (method === "HEAD") return answer(exchange, 200, { ...headers, "content-length": place.size });
  const bytes = await parts.blobs.read(file.digest, { start: place.start, end: place.end });
  begin(response, 200, { ...headers, "content-length": place.size });
  await answerStream(exchange, bytes, ...(place.isDeflated ? [createInflateRaw()] : []));
}

async function sendProvenance(exchange: LibraryRequest, library: OpenLibrary, path: FilePath, { store }: LibraryParts): Promise<void> {
  const { artifact_uid: artifactUid } = await findOfferedFile(store.reader, library, path);
  const whole = await readProvenance(store.reader, artifactUid, path.name);
  if (whole === undefined) throw notFound("Provenance", path.name);
  const stored = library.isPublicRead ? anonymousProvenance(whole) : whole;
  const headers = { ...REVALIDATED, etag: `"${stored.digest}"` };
  if (isKnown(exchange.request, { etags: [headers.etag] })) return answer(exchange, 304, headers);
  answerText(exchange, PROVENANCE_TYPE, stored.body, headers);
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

interface FoundFile extends StoredStatus {
  readonly artifact_uid: string;
  readonly name: string;
  readonly key: string;
  readonly digest: string;
  readonly size: number;
  readonly metadata: string;
}

/** @throws NOT_FOUND; FAILED_PRECONDITION for a file of a quarantined project */
async function findOfferedFile(db: ReadDb, library: Library, path: FilePath): Promise<FoundFile> {
  const file = await findFile(db, library, path);
  assertOffersFiles(file.name, file);
  return file;
}

async function findFile(db: ReadDb, { groupUid }: Library, { sha256, name }: FilePath): Promise<FoundFile> {
  const file = await db
    .selectFrom("library_file as f")
    .innerJoin("library_artifact as a", "a.uid", "f.artifact_uid")
    .select(["f.artifact_uid", "a.name", "a.key", "a.status", "a.status_reason", "f.digest", "f.size", "f.metadata"])
    .where("f.digest", "=", `sha256:${sha256}`)
    .where("f.path", "=", name)
    .where("a.parent", "=", groupUid)
    .where("a.ecosystem", "=", Ecosystem.PYTHON)
    .executeTakeFirst();
  if (file === undefined) throw notFound("File", name.slice(0, 255));
  return file;
}
