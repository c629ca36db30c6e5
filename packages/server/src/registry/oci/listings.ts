/** Serves the lists of the registry: tags, referrers, and the digests that a tag has had. */
import { isDigest } from "../../blobs/digest.ts";
import { findReferrers } from "../content/find-referrers.ts";
import { INDEX_TYPE } from "../content/manifest.ts";
import { readTagHistory } from "../content/tag-history.ts";
import { OciError } from "../oci-error.ts";
import { openRepo, openRepoIfAny } from "../open-repo.ts";
import { rights } from "../rights.ts";
import { HttpOciError } from "./error.ts";
import { answerJson, answerJsonText, nextPage, type OciParts, type OciRequest } from "./oci-request.ts";

/** The page size when the client requests none. Clients follow the link to the next page. */
const DEFAULT_TAGS = 10_000;
const MAX_TAGS = 10_000;

/** Distribution specification 1.1, "Listing tags": in byte order. */
export async function listTags(exchange: OciRequest, { store }: OciParts): Promise<void> {
  assertRead(exchange);
  const { name, query, caller } = exchange;
  const repoUid = await openRepo(store.reader, caller, { name, action: "pull", needed: rights.listTags });
  const limit = Math.min(parseCount(query.get("n")) ?? DEFAULT_TAGS, MAX_TAGS);
  if (limit === 0) return answerJson(exchange, { name, tags: [] });
  const rows = await store.reader
    .selectFrom("tag")
    .select("name")
    .where("parent", "=", repoUid)
    .where("name", ">", query.get("last") ?? "")
    // Clients pull every tag that is listed.
    .where("digest", "<>", "")
    .orderBy("name")
    .limit(limit + 1)
    .execute();
  const tags = rows.slice(0, limit).map((row) => row.name);
  const link = rows.length > limit && { link: nextPage(`/v2/${name}/tags/list`, { n: String(limit), last: tags.at(-1) ?? "" }) };
  answerJson(exchange, { name, tags }, { ...link });
}

/** Parses the parameter `n` of a list; undefined if it is absent. */
export function parseCount(text: string | null): number | undefined {
  if (text === null || text === "") return undefined;
  if (!/^\d{1,9}$/.test(text)) throw new HttpOciError("UNSUPPORTED", 400, "n must be a whole number");
  return Number(text);
}

/**
 * Distribution specification 1.1, "Listing referrers": the list of a subject that does not exist is empty, also in a repo that does not
 * exist yet. Clients would conclude from a 404 that the registry has no such lists, and would keep one themselves.
 */
export async function listReferrers(exchange: OciRequest, subject: string, { store }: OciParts): Promise<void> {
  assertRead(exchange);
  if (!isDigest(subject))
    throw new OciError("DIGEST_INVALID", "the digest must be sha256: or sha512: and its lower-case hexadecimal digits");
  const { name, query, caller } = exchange;
  const repoUid = await openRepoIfAny(store.reader, caller, { name, action: "pull", needed: rights.listReferrers });
  const artifactType = query.get("artifactType") || undefined;
  const page = { artifactType, after: query.get("last") ?? undefined };
  const { descriptors, next } =
    repoUid === undefined ? { descriptors: [], next: undefined } : await findReferrers(store.reader, repoUid, subject, page);
  const filter = artifactType === undefined ? {} : { artifactType };
  const index = `{"schemaVersion":2,"mediaType":"${INDEX_TYPE}","manifests":[${descriptors.join(",")}]}`;
  answerJsonText(exchange, index, {
    "content-type": INDEX_TYPE,
    ...(artifactType !== undefined && { "oci-filters-applied": "artifactType" }),
    ...(next !== undefined && { link: nextPage(`/v2/${name}/referrers/${subject}`, { ...filter, last: next }) }),
  });
}

/**
 * Not in the specification: `/v2/<name>/_holt/history/<tag>?start=&end=`. Includes the history of deleted tags, and content that the
 * repository may have had before it became public.
 */
export async function listHistory(exchange: OciRequest, tag: string, { store }: OciParts): Promise<void> {
  assertRead(exchange);
  const { name, query, caller } = exchange;
  const repoUid = await openRepo(store.reader, caller, { name, action: "pull", needed: rights.listTags, needsOwnRights: true });
  const history = await readTagHistory(store.reader, repoUid, tag, { start: timeOf(query, "start"), end: timeOf(query, "end") });
  answerJson(exchange, { history: history.map(({ time, digest }) => ({ updateTimestamp: time, digest })) });
}

function timeOf(query: URLSearchParams, name: string): Date | undefined {
  const text = query.get(name);
  if (text === null || text === "") return undefined;
  const time = new Date(text);
  if (!/^\d{4}-\d{2}-\d{2}/.test(text) || Number.isNaN(time.getTime()))
    throw new HttpOciError("UNSUPPORTED", 400, `${name} must be an RFC 3339 time`);
  return time;
}

export function assertRead({ method }: OciRequest): void {
  if (method !== "GET" && method !== "HEAD") throw new HttpOciError("UNSUPPORTED", 405, "lists take GET", { allow: "GET, HEAD" });
}
