/** Blobs: pulled whole or in part, looked for, deleted from a repository. */
import { isDigest } from "../../blobs/digest.ts";
import type { ByteRange } from "../../blobs/store.ts";
import { deleteBlob } from "../../registry/delete-content.ts";
import { OciError } from "../../registry/oci-error.ts";
import { openRepo } from "../../registry/open-repo.ts";
import { rights } from "../../registry/rights.ts";
import { allowLongBody } from "../body-time.ts";
import { HttpOciError } from "./error.ts";
import { answer, type OciParts, type OciRequest, write } from "./oci-request.ts";

/** Content never changes under its digest. Not for caches that others use: who may read it is asked each time. */
const CACHE_CONTROL = "private, max-age=31536000, immutable";

export async function serveBlob(exchange: OciRequest, digest: string, parts: OciParts): Promise<void> {
  if (!isDigest(digest))
    throw new OciError("DIGEST_INVALID", "the digest must be sha256: or sha512: and its lower-case hexadecimal digits");
  switch (exchange.method) {
    case "GET":
    case "HEAD":
      return pull(exchange, digest, parts);
    case "DELETE":
      return remove(exchange, digest, parts);
    default:
      throw new HttpOciError("UNSUPPORTED", 405, "blobs take GET, HEAD and DELETE", { allow: "GET, HEAD, DELETE" });
  }
}

async function pull(
  exchange: OciRequest,
  digest: string,
  { store, blobs, uploads, pulls, clock, transferIdleMs }: OciParts,
): Promise<void> {
  const { request, response, method, name, caller, origin } = exchange;
  const repoUid = await openRepo(store.reader, name, caller, "pull", rights.pullBlob);
  // Who is about to push leaves out what is there already, so it must stay for a while.
  const blob = await uploads.findBlob(repoUid, digest, method === "HEAD" && caller.access.holds(rights.push, repoUid));
  if (blob === undefined) throw new OciError("BLOB_UNKNOWN", `there is no blob ${digest} in this repository`, { digest });
  const headers = {
    "docker-content-digest": digest,
    etag: `"${digest}"`,
    "cache-control": CACHE_CONTROL,
    "content-type": "application/octet-stream",
    "accept-ranges": "bytes",
  };
  if (request.headers["if-none-match"]?.includes(`"${digest}"`)) return answer(exchange, 304, headers);
  const range = method === "GET" ? rangeOf(request.headers, digest, blob.size) : undefined;
  if (range === "unsatisfiable")
    throw new HttpOciError("SIZE_INVALID", 416, `the blob has ${blob.size} bytes`, { "content-range": `bytes */${blob.size}` });
  const length = range === undefined ? blob.size : range.end - range.start + 1;
  if (method === "HEAD" || length === 0) return answer(exchange, 200, { ...headers, "content-length": length });

  const partial = range && { "content-range": `bytes ${range.start}-${range.end}/${blob.size}` };
  const begin = () => {
    write(response, range === undefined ? 200 : 206, { ...headers, ...partial, "content-length": length });
    allowLongBody(request, transferIdleMs);
    pulls.record({ repoUid, type: "blob", digest, tag: undefined, method: "GET", origin, now: clock.now() });
    return response;
  };
  // Never more than the database knows of: the file may be longer (`blobs/filesystem.ts`).
  await blobs.send(digest, range ?? { start: 0, end: blob.size - 1 }, begin);
}

/**
 * One range of bytes (RFC 9110 §14.2); what is malformed or asks for several is answered with everything, one that ends before it begins is refused, as is
 * allowed.
 * @param etag without its quotes
 */
export function rangeOf(headers: OciRequest["request"]["headers"], etag: string, size: number): ByteRange | "unsatisfiable" | undefined {
  const match = /^bytes=(\d*)-(\d*)$/.exec(headers.range ?? "");
  const condition = headers["if-range"];
  if (match === null || (condition !== undefined && condition !== `"${etag}"`)) return undefined;
  const [, first = "", last = ""] = match;
  if (first === "" && last === "") return undefined;
  if (first === "") return Number(last) === 0 || size === 0 ? "unsatisfiable" : { start: Math.max(size - Number(last), 0), end: size - 1 };
  const start = Number(first);
  const isBackward = last !== "" && Number(last) < start;
  return isBackward || start >= size ? "unsatisfiable" : { start, end: last === "" ? size - 1 : Math.min(Number(last), size - 1) };
}

async function remove(exchange: OciRequest, digest: string, { store, names, clock }: OciParts): Promise<void> {
  const { name, caller, origin } = exchange;
  const repoUid = await openRepo(store.reader, name, caller, "delete", rights.deleteManifest);
  await deleteBlob(digest, { repoUid, origin, now: clock.now() }, { store, names });
  answer(exchange, 202);
}
