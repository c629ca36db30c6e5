/** Serves manifests by tag or digest: GET, HEAD, PUT and DELETE. */
import { isDigest } from "../../blobs/digest.ts";
import { isKnown } from "../../http/conditional-request.ts";
import { begin } from "../../http/http-exchange.ts";
import { readBody } from "../../http/read-body.ts";
import { type Allowance, MessageTooLargeError } from "../../http/request-memory.ts";
import type { ContentCaller } from "../../iam/content-login/content-callers.ts";
import { deleteManifest, deleteTag } from "../collection/delete-content.ts";
import { findManifest, hasLostBytes, type StoredManifest } from "../content/find-manifest.ts";
import { type PushedManifest, pushManifest } from "../content/push-manifest.ts";
import { OciError } from "../oci-error.ts";
import { openRepo, openRepoForPush } from "../open-repo.ts";
import { rights } from "../rights.ts";
import { HttpOciError } from "./error.ts";
import { answer, type OciParts, type OciRequest } from "./oci-request.ts";

/** The grammar of a tag (distribution specification 1.1, "Pulling manifests"). */
const TAG = /^[a-zA-Z0-9_][a-zA-Z0-9._-]{0,127}$/;
/** Tags per push, all in one transaction. The specification asks for at least 10. */
const MAX_TAGS = 100;

export async function serveManifest(exchange: OciRequest, reference: string, parts: OciParts): Promise<void> {
  if (reference.includes(":") && !isDigest(reference))
    throw new OciError("DIGEST_INVALID", "the digest must be sha256: or sha512: and its lower-case hexadecimal digits");
  switch (exchange.method) {
    case "GET":
    case "HEAD":
      return pull(exchange, reference, parts);
    case "PUT":
      return push(exchange, reference, parts);
    case "DELETE":
      return remove(exchange, reference, parts);
    default:
      throw new HttpOciError("UNSUPPORTED", 405, "manifests take GET, HEAD, PUT and DELETE", { allow: "GET, HEAD, PUT, DELETE" });
  }
}

async function pull(exchange: OciRequest, reference: string, parts: OciParts): Promise<void> {
  const { store, pulls, clock } = parts;
  const { request, response, method, name, caller, origin } = exchange;
  const repoUid = await openRepo(store.reader, caller, { name, action: "pull", needed: rights.pullManifest });
  const manifest = await findManifest(store.reader, repoUid, reference);
  if (manifest === undefined || (method === "HEAD" && !(await staysPushed(repoUid, manifest, caller, parts))))
    throw new OciError("MANIFEST_UNKNOWN", `there is no manifest ${reference.slice(0, 200)} in this repository`);
  const { digest, mediaType, content } = manifest;
  const tag = reference === digest ? undefined : reference;
  pulls.record({ repoUid, type: "manifest", digest, tag, method: method === "HEAD" ? "HEAD" : "GET", origin, now: clock.now() });
  const headers = { "docker-content-digest": digest, etag: `"${digest}"`, "content-type": mediaType, "cache-control": "private, no-cache" };
  if (isKnown(request, { etags: [headers.etag] })) return answer(exchange, 304, headers);
  begin(response, 200, { ...headers, "content-length": content.length });
  response.end(method === "HEAD" ? "" : content);
}

/**
 * Clients skip the push of a manifest that HEAD finds. So it must have its layers, and must not be collected before the client has pushed
 * what refers to it.
 */
async function staysPushed(repoUid: string, manifest: StoredManifest, { access }: ContentCaller, parts: OciParts): Promise<boolean> {
  if (await hasLostBytes(repoUid, manifest.digest, parts)) return false;
  return !access.holds(rights.push, repoUid) || parts.keepManifest(repoUid, manifest);
}

async function push(exchange: OciRequest, reference: string, parts: OciParts): Promise<void> {
  const { request, name, caller, origin } = exchange;
  const tags = isDigest(reference) ? furtherTags(exchange) : [];
  for (const tag of isDigest(reference) ? tags : [reference])
    if (!TAG.test(tag)) throw new OciError("MANIFEST_INVALID", `a tag must match ${TAG.source}`);
  const now = parts.clock.now();
  const repo = await openRepoForPush({ name, caller, origin, now }, parts);
  const allowance = parts.memory.allowKnown(exchange.response.answer);
  try {
    const content = await readManifest(exchange, allowance);
    const manifest = { repo, reference, tags, content, contentType: request.headers["content-type"], origin, now };
    answerPushed(exchange, await pushManifest(manifest, parts), tags);
  } finally {
    allowance.release();
  }
}

/** Distribution specification after 1.1, "Pushing manifests": a push by digest may name tags in its query. */
function furtherTags({ query }: OciRequest): readonly string[] {
  const tags = [...new Set(query.getAll("tag"))];
  if (tags.length > MAX_TAGS) throw new HttpOciError("UNSUPPORTED", 414, `a push takes at most ${MAX_TAGS} tags`);
  return tags;
}

function answerPushed(exchange: OciRequest, { digest, subject }: PushedManifest, tags: readonly string[]): void {
  // One header per tag: some clients do not split a list.
  if (tags.length > 0) exchange.response.setHeader("oci-tag", tags);
  answer(exchange, 201, {
    location: `/v2/${exchange.name}/manifests/${digest}`,
    "docker-content-digest": digest,
    // Tells the client that the registry maintains the list of referrers.
    ...(subject !== undefined && { "oci-subject": subject }),
  });
}

/** Distribution specification 1.1, "Pushing manifests": a registry should accept at least 4 MiB, and may refuse more. */
async function readManifest({ request, transfer }: OciRequest, allowance: Allowance): Promise<Buffer> {
  try {
    return await transfer(async () => readBody(request, allowance));
  } catch (error) {
    if (error instanceof MessageTooLargeError)
      throw new HttpOciError("SIZE_INVALID", 413, `a manifest has at most ${allowance.messageBytes} bytes`);
    throw error;
  }
}

async function remove(exchange: OciRequest, reference: string, parts: OciParts): Promise<void> {
  const { name, caller, origin } = exchange;
  const byDigest = isDigest(reference);
  const repoUid = await openRepo(parts.store.reader, caller, {
    name,
    action: "delete",
    needed: byDigest ? rights.deleteManifest : rights.deleteTag,
  });
  const deletion = { repoUid, origin, now: parts.clock.now() };
  await (byDigest ? deleteManifest(reference, deletion, parts) : deleteTag(reference, deletion, parts));
  answer(exchange, 202);
}
