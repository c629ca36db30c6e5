/** Serves blobs: GET completely or in part, HEAD, and DELETE from a repository. */
import { isDigest } from "../../blobs/digest.ts";
import { sendBlob } from "../../http/send-blob.ts";
import { deleteBlob } from "../collection/delete-content.ts";
import { OciError } from "../oci-error.ts";
import { openRepo } from "../open-repo.ts";
import { rights } from "../rights.ts";
import { HttpOciError } from "./error.ts";
import { answer, type OciParts, type OciRequest } from "./oci-request.ts";

/** Content never changes under its digest. Shared caches must not keep it, because the server authorizes every read. */
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
  const { method, name, caller, origin } = exchange;
  const repoUid = await openRepo(store.reader, caller, { name, action: "pull", needed: rights.pullBlob });
  // A client that is about to push skips blobs that exist, so these must not be collected for a while.
  const blob = await uploads.findBlob(repoUid, digest, method === "HEAD" && caller.access.holds(rights.push, repoUid));
  if (blob === undefined) throw new OciError("BLOB_UNKNOWN", `there is no blob ${digest} in this repository`, { digest });
  const headers = { "docker-content-digest": digest, "cache-control": CACHE_CONTROL, "content-type": "application/octet-stream" };
  const onBegin = () => pulls.record({ repoUid, type: "blob", digest, tag: undefined, method: "GET", origin, now: clock.now() });
  await sendBlob(exchange, { digest, size: blob.size, etag: digest, headers }, { blobs, transferIdleMs, onBegin });
}

async function remove(exchange: OciRequest, digest: string, { store, names, clock }: OciParts): Promise<void> {
  const { name, caller, origin } = exchange;
  const repoUid = await openRepo(store.reader, caller, { name, action: "delete", needed: rights.deleteManifest });
  await deleteBlob(digest, { repoUid, origin, now: clock.now() }, { store, names });
  answer(exchange, 202);
}
