/** Uploads of blobs: in one request, in one after a POST, or in chunks (distribution specification 1.1, "Pushing blobs"). */
import { PassThrough, type Readable } from "node:stream";
import { isDigest } from "../../blobs/digest.ts";
import { OwnedPieces } from "../../blobs/file-stream.ts";
import { RangeMismatch } from "../../blobs/store.ts";
import { allowLongBody } from "../../http/body-time.ts";
import { type HttpRequest, isWhole } from "../../http/http-exchange.ts";
import type { Upload } from "../content/uploads.ts";
import { OciError } from "../oci-error.ts";
import { openRepo, openRepoForPush } from "../open-repo.ts";
import { rights } from "../rights.ts";
import { HttpOciError } from "./error.ts";
import { answer, type OciParts, type OciRequest } from "./oci-request.ts";

/** `POST /v2/<name>/blobs/uploads/` */
export async function beginUpload(exchange: OciRequest, parts: OciParts): Promise<void> {
  const { method, name, query, caller, origin } = exchange;
  if (method !== "POST") throw new HttpOciError("UNSUPPORTED", 405, "uploads begin with POST", { allow: "POST" });
  const [mount, from, digest] = [query.get("mount"), query.get("from"), query.get("digest")];
  if (mount !== null) assertDigest(mount);
  if (digest !== null) assertDigest(digest);
  const repoUid = await openRepoForPush(name, caller, origin, parts.clock.now(), parts);
  if (mount !== null && from !== null && (await mountBlob(exchange, repoUid, mount, from, parts))) return created(exchange, mount);
  if (digest !== null) return pushWhole(exchange, repoUid, digest, parts);
  accepted(exchange, await parts.uploads.begin(repoUid, caller.principal.uid));
}

/** Where the source cannot be had, for whatever reason, the client uploads instead: it learns nothing of what it may not see. */
async function mountBlob(
  { caller }: OciRequest,
  repoUid: string,
  digest: string,
  from: string,
  { store, uploads }: OciParts,
): Promise<boolean> {
  const source = await openRepo(store.reader, from, caller, "pull", rights.pullBlob).catch((error: unknown) => {
    if (error instanceof OciError) return undefined;
    throw error;
  });
  return source !== undefined && (await uploads.mount(source, repoUid, digest)) !== undefined;
}

async function pushWhole(exchange: OciRequest, repoUid: string, digest: string, { uploads, transferIdleMs }: OciParts): Promise<void> {
  const { request } = exchange;
  await withBody(request, transferIdleMs, (body) => uploads.put(repoUid, body, digest, () => isWhole(request)));
  created(exchange, digest);
}

/** `/v2/<name>/blobs/uploads/<uid>` */
export async function serveUpload(exchange: OciRequest, uid: string, parts: OciParts): Promise<void> {
  const { method, name, caller } = exchange;
  const repoUid = await openRepo(parts.store.reader, name, caller, "push", rights.push);
  const upload = await parts.uploads.find(repoUid, uid);
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
  // An upload that never got a byte begins with the first append, and is an empty blob after one of nothing.
  if (upload.size === 0 || hasBody(exchange.request)) await append(exchange, upload, parts);
  await parts.uploads.commit(upload, digest);
  created(exchange, digest);
}

/** @throws HttpOciError 416 where the chunk does not begin where the upload ends */
async function append(exchange: OciRequest, upload: Upload, { uploads, transferIdleMs }: OciParts): Promise<number> {
  const { request } = exchange;
  const range = chunkOf(request);
  if (range !== undefined && range.start !== upload.size) throw outOfOrder(exchange, upload.uid, upload.size);
  try {
    const size = await withBody(request, transferIdleMs, (body) => uploads.append(upload, body, upload.size));
    if (!isWhole(request)) throw new OciError("SIZE_INVALID", "the request ended before its body did");
    if (range !== undefined && size !== range.end + 1)
      throw new OciError("SIZE_INVALID", "Content-Range has another length than the chunk");
    return size;
  } catch (error) {
    throw error instanceof RangeMismatch ? outOfOrder(exchange, upload.uid, error.size) : error;
  }
}

function outOfOrder(exchange: OciRequest, uid: string, size: number): HttpOciError {
  return new HttpOciError("BLOB_UPLOAD_INVALID", 416, `the next chunk must begin at byte ${size}`, headersOf(exchange, uid, size));
}

/** `Content-Range: <start>-<end>`, in a form of the specification's own; some clients write it as HTTP does, `bytes <start>-<end>/*`. */
function chunkOf({ headers }: HttpRequest): { start: number; end: number } | undefined {
  const text = headers["content-range"];
  if (text === undefined) return undefined;
  const match = /^(?:bytes )?(\d{1,15})-(\d{1,15})(?:\/(?:\d+|\*))?$/.exec(text);
  const [start, end] = [Number(match?.[1]), Number(match?.[2])];
  if (match === null || end < start) throw new HttpOciError("BLOB_UPLOAD_INVALID", 416, "Content-Range must be <start>-<end>");
  const length = headers["content-length"];
  if (length !== undefined && Number(length) !== end - start + 1)
    throw new OciError("SIZE_INVALID", "Content-Range and Content-Length do not agree");
  return { start, end };
}

function hasBody({ headers }: HttpRequest): boolean {
  return headers["transfer-encoding"] !== undefined || headers["content-length"] === undefined || headers["content-length"] !== "0";
}

/**
 * The body, without what carries it: where its bytes cannot be stored the connection must live on to say so. A client that leaves
 * ends it with an error, after which what came is kept.
 */
async function withBody<T>(request: HttpRequest, idleMs: number, work: (body: Readable) => Promise<T>): Promise<T> {
  allowLongBody(request, idleMs);
  // Over HTTP/2, a piece may be memory that its parser still reads.
  const body = new ("stream" in request ? PassThrough : OwnedPieces)({ highWaterMark: 1024 * 1024 });
  const leave = () => {
    if (!isWhole(request)) body.destroy(new Error("the client left"));
  };
  request.once("error", leave).once("close", leave);
  request.pipe(body);
  try {
    return await work(body);
  } finally {
    body.destroy();
    request.unpipe(body);
    // What still comes is dropped, so that the client gets to read the answer.
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

/** `Range` has an inclusive end, so that nothing and one byte look alike; clients begin at 0 without asking. */
function headersOf({ name }: OciRequest, uid: string, size: number): Record<string, string> {
  return { location: `/v2/${name}/blobs/uploads/${uid}`, range: `0-${Math.max(size - 1, 0)}`, "docker-upload-uuid": uid };
}

function created(exchange: OciRequest, digest: string): void {
  answer(exchange, 201, { location: `/v2/${exchange.name}/blobs/${digest}`, "docker-content-digest": digest });
}
