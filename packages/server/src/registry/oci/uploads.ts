/** Serves uploads of blobs: in one POST, in a PUT after a POST, or in chunks (distribution specification 1.1, "Pushing blobs"). */
import { PassThrough, type Readable } from "node:stream";
import { isDigest } from "../../blobs/digest.ts";
import { OwnedChunks } from "../../blobs/file-stream.ts";
import { RangeMismatch } from "../../blobs/store.ts";
import { allowLongBody } from "../../http/body-time.ts";
import { type HttpRequest, isWhole } from "../../http/http-exchange.ts";
import type { PushRepo } from "../content/create-repo.ts";
import type { Upload } from "../content/uploads.ts";
import { OciError } from "../oci-error.ts";
import { openRepo, openRepoForPush } from "../open-repo.ts";
import { rights } from "../rights.ts";
import { InsufficientScope } from "../token-scope.ts";
import { HttpOciError } from "./error.ts";
import { answer, type OciParts, type OciRequest } from "./oci-request.ts";

/** `POST /v2/<name>/blobs/uploads/` */
export async function beginUpload(exchange: OciRequest, parts: OciParts): Promise<void> {
  const { method, name, query, caller, origin } = exchange;
  if (method !== "POST") throw new HttpOciError("UNSUPPORTED", 405, "uploads begin with POST", { allow: "POST" });
  const mount = query.get("mount");
  const from = query.get("from");
  const digest = query.get("digest");
  if (mount !== null) assertDigest(mount);
  if (digest !== null) assertDigest(digest);
  const repo = await openRepoForPush({ name, caller, origin, now: parts.clock.now() }, parts);
  if (mount !== null && from !== null && (await mountBlob(exchange, { repo, digest: mount, from }, parts))) return created(exchange, mount);
  if (digest !== null) return pushWhole(exchange, repo, digest, parts);
  accepted(exchange, await parts.uploads.begin({ repo, repository: name, identityUid: caller.principal.uid }));
}

interface Mount {
  readonly repo: PushRepo;
  readonly digest: string;
  /** The name of the source repository. */
  readonly from: string;
}

/**
 * @returns false if the caller may not read the source: the client then uploads, and does not learn what exists
 * @throws InsufficientScope if only the token's scope lacks the source, so that the client asks for a token with both
 */
async function mountBlob({ caller }: OciRequest, { repo, digest, from }: Mount, { store, uploads }: OciParts): Promise<boolean> {
  const source = await openRepo(store.reader, caller, { name: from, action: "pull", needed: rights.pullBlob }).catch((error: unknown) => {
    if (error instanceof OciError && !(error instanceof InsufficientScope)) return undefined;
    throw error;
  });
  return source !== undefined && (await uploads.mount(source, repo, digest)) !== undefined;
}

async function pushWhole(exchange: OciRequest, repo: PushRepo, digest: string, { uploads, transferIdleMs }: OciParts): Promise<void> {
  const { request } = exchange;
  await withBody(exchange, transferIdleMs, (body) => uploads.put(repo, body, digest, () => isWhole(request)));
  created(exchange, digest);
}

/** `/v2/<name>/blobs/uploads/<uid>` */
export async function serveUpload(exchange: OciRequest, uid: string, parts: OciParts): Promise<void> {
  const { method, name, caller, origin } = exchange;
  const repo = await openRepoForPush({ name, caller, origin, now: parts.clock.now() }, parts);
  const upload = await parts.uploads.find({ repo, repository: name, identityUid: caller.principal.uid }, uid);
  switch (method) {
    case "GET":
    case "HEAD":
      return answer(exchange, 204, headersOf(exchange, upload.uid, upload.size));
    case "PATCH":
      return accepted(exchange, { ...upload, size: await append(exchange, upload, parts) });
    case "PUT":
      return finish(exchange, upload, parts);
    case "DELETE":
      await parts.uploads.cancel(upload);
      return answer(exchange, 204);
    default:
      throw new HttpOciError("UNSUPPORTED", 405, "uploads take GET, PATCH, PUT and DELETE", { allow: "GET, HEAD, PATCH, PUT, DELETE" });
  }
}

async function finish(exchange: OciRequest, upload: Upload, parts: OciParts): Promise<void> {
  const digest = exchange.query.get("digest") ?? "";
  assertDigest(digest);
  // The first append creates the file of an upload, so an empty blob needs an append without bytes.
  if (upload.size === 0 || hasBody(exchange.request)) await append(exchange, upload, parts);
  await parts.uploads.commit(upload, digest);
  created(exchange, digest);
}

/** @throws HttpOciError 416 if the chunk does not begin at the end of the upload */
async function append(exchange: OciRequest, upload: Upload, { uploads, transferIdleMs }: OciParts): Promise<number> {
  const { request } = exchange;
  const range = chunkOf(request);
  if (range !== undefined && range.start !== upload.size) throw outOfOrder(exchange, upload.uid, upload.size);
  try {
    const size = await withBody(exchange, transferIdleMs, (body) => uploads.append(upload, body, upload.size));
    if (!isWhole(request)) throw new OciError("SIZE_INVALID", "the request ended before its body did");
    if (range !== undefined && size !== range.end + 1)
      throw new OciError("SIZE_INVALID", "the length of Content-Range is not the length of the chunk");
    return size;
  } catch (error) {
    throw error instanceof RangeMismatch ? outOfOrder(exchange, upload.uid, error.size) : error;
  }
}

function outOfOrder(exchange: OciRequest, uid: string, size: number): HttpOciError {
  return new HttpOciError("BLOB_UPLOAD_INVALID", 416, `the next chunk must begin at byte ${size}`, headersOf(exchange, uid, size));
}

/** Parses `Content-Range: <start>-<end>`, the form of the specification. Some clients send the form of HTTP, `bytes <start>-<end>/*`. */
function chunkOf({ headers }: HttpRequest): { start: number; end: number } | undefined {
  const text = headers["content-range"];
  if (text === undefined) return undefined;
  const match = /^(?:bytes )?(\d{1,15})-(\d{1,15})(?:\/(?:\d+|\*))?$/.exec(text);
  const start = Number(match?.[1]);
  const end = Number(match?.[2]);
  if (match === null || end < start) throw new HttpOciError("BLOB_UPLOAD_INVALID", 416, "Content-Range must be <start>-<end>");
  const length = headers["content-length"];
  if (length !== undefined && Number(length) !== end - start + 1)
    throw new OciError("SIZE_INVALID", "Content-Range and Content-Length have different lengths");
  return { start, end };
}

function hasBody({ headers }: HttpRequest): boolean {
  return headers["transfer-encoding"] !== undefined || headers["content-length"] === undefined || headers["content-length"] !== "0";
}

/**
 * Passes the body as a stream of its own: if its bytes cannot be stored, the connection must survive to carry the error. If the client
 * disconnects, the stream fails, and the bytes received so far are kept.
 */
async function withBody<T>({ request, transfer }: OciRequest, idleMs: number, work: (body: Readable) => Promise<T>): Promise<T> {
  allowLongBody(request, idleMs);
  // Over HTTP/2, a chunk may be memory that the parser still reads.
  const body = new ("stream" in request ? PassThrough : OwnedChunks)({ highWaterMark: 1024 * 1024 });
  const leave = () => {
    if (!isWhole(request)) body.destroy(new Error("the client disconnected"));
  };
  request.once("error", leave).once("close", leave);
  request.pipe(body);
  try {
    return await transfer(() => work(body));
  } finally {
    body.destroy();
    request.unpipe(body);
    // Discards the rest of the body, so that the client gets to read the response.
    request.resume();
  }
}

function assertDigest(digest: string): void {
  if (!isDigest(digest))
    throw new OciError("DIGEST_INVALID", "the digest must be sha256: or sha512: and its lower-case hexadecimal digits");
}

function accepted(exchange: OciRequest, { uid, size }: Pick<Upload, "uid" | "size">): void {
  answer(exchange, 202, headersOf(exchange, uid, size));
}

/** The end of `Range` is inclusive, so an empty upload looks like one byte. Clients start at 0 without asking. */
function headersOf({ name }: OciRequest, uid: string, size: number): Record<string, string> {
  return { location: `/v2/${name}/blobs/uploads/${uid}`, range: `0-${Math.max(size - 1, 0)}`, "docker-upload-uuid": uid };
}

function created(exchange: OciRequest, digest: string): void {
  answer(exchange, 201, { location: `/v2/${exchange.name}/blobs/${digest}`, "docker-content-digest": digest });
}
