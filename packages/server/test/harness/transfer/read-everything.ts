/** Asks a server for everything about an organization: all list operations about all of its resources, and all content. */
import { type DescMethodUnary, fromJson, type JsonObject } from "@bufbuild/protobuf";
import { SecurityTokenService } from "@holt/api/gen/platform/oidc/v1/security_token_service_pb.ts";
import { answerOf, createRestClient, httpRequestOf } from "../clients.ts";
import { operations } from "../contract.ts";
import { basic, createRegistryClient, digestOf, type RegistryClient } from "../registry/registry-client.ts";
import type { Exported } from "./exported-rows.ts";

/** Lists of sessions, which stay behind, of signatures, and of what grows meanwhile: background work, and the audit log. */
const OTHERWISE = /Session|Signed|Deliveries|Mirrors|Failing|Attention|ListAuditEntries/;
const lists = operations.filter(
  ({ method, hasRest, isServed, isPublic }) =>
    /^List/.test(method.name) && !OTHERWISE.test(method.name) && hasRest && isServed && !isPublic,
);
/** The lists are asked about as many resources of each table. */
const PER_TABLE = 1;
const PAGE_SIZE = 5;
/** Lists per day end with the same day on both servers, also if midnight comes between their answers. */
const END_TIME = new Date().toISOString();

/** Signs a robot in with its own proof. */
export async function signIn(baseUrl: string, identity: string, proof: string): Promise<string> {
  await using client = createRestClient(baseUrl);
  return answerOf(await client.call(SecurityTokenService.method.exchange, { identity }, proof)).token;
}

/** The answers of all list operations, by operation and resource. Answers have no page tokens, which each server seals anew. */
export async function readLists(baseUrl: string, token: string, exported: Exported): Promise<Map<string, string>> {
  const answers = new Map<string, string>();
  for (const { name, method } of lists)
    for (const [title, values] of placesIn(exported))
      answers.set(`${name} ${title}`, (await readPages(baseUrl, token, method, values)).join("\n"));
  return answers;
}

interface Place {
  readonly uid: string;
  readonly digest?: string;
}

/** Some resources of each table, and the organization. */
function placesIn(exported: Exported): Map<string, Place> {
  const places = new Map<string, Place>();
  for (const [table, rows] of exported) {
    for (const { uid } of rows.slice(0, PER_TABLE)) if (typeof uid === "string") places.set(`${table} ${uid}`, { uid });
  }
  const manifests = new Map((exported.get("image") ?? []).map((row) => [String(row.repo_uid), String(row.digest)]));
  for (const [uid, digest] of manifests) places.set(`image ${uid}@${digest}`, { uid, digest });
  return places;
}

async function readPages(baseUrl: string, token: string, method: DescMethodUnary, place: Place): Promise<string[]> {
  const names = new Set(method.input.fields.map(({ jsonName }) => jsonName));
  const request: JsonObject = {};
  for (const name of ["parent", "uid", "group", "repoUid", "identityUid", "artifactUid", "subscriptionUid"])
    if (names.has(name)) request[name] = place.uid;
  if (names.has("digest")) request.digest = place.digest ?? "";
  if (method.input.fields.some(({ jsonName, message }) => jsonName === "uidp" && message !== undefined))
    request.uidp = { descendantsOf: place.uid };
  if (names.has("endTime")) request.endTime = END_TIME;
  if (names.has("pageSize")) request.pageSize = PAGE_SIZE;
  const pages: string[] = [];
  for (let pageToken = ""; ; ) {
    const { verb, path, body = null } = httpRequestOf(method, fromJson(method.input, { ...request, ...(pageToken && { pageToken }) }));
    const answer = await fetch(baseUrl + path, { method: verb, body, headers: { authorization: `Bearer ${token}` } });
    const text = await answer.text();
    const next = /"nextPageToken":"([^"]*)"/.exec(text)?.[1] ?? "";
    // A sign-in to compare the servers is seen at another time.
    pages.push(`${answer.status} ${text.replace(/"(nextPageToken|cursor)":"[^"]*"/, "").replace(/"lastSeen(Time)?":"[^"]*",?/g, "")}`);
    if (next === "" || answer.status !== 200) return pages;
    pageToken = next;
  }
}

/** Every manifest, blob and file of a library, as clients download them. @throws unless all bytes have their digests */
export async function readContent(baseUrl: string, token: string, exported: Exported): Promise<Map<string, string>> {
  using client = createRegistryClient(baseUrl, basic("_token", token));
  const answers = new Map<string, string>();
  const get = async (path: string, digest?: string) => answers.set(path, await download(client, path, digest));
  for (const { repo_uid: repo, digest } of exported.get("manifest") ?? []) await get(`/v2/${repo}/manifests/${digest}`, String(digest));
  for (const { repo_uid: repo, digest } of exported.get("repo_blob") ?? []) await get(`/v2/${repo}/blobs/${digest}`, String(digest));
  for (const { repo_uid: repo, subject } of exported.get("manifest") ?? []) if (subject) await get(`/v2/${repo}/referrers/${subject}`);
  for (const { uid } of exported.get("repo") ?? []) await get(`/v2/${uid}/tags/list`);
  const groups = new Map((exported.get("library_artifact") ?? []).map((row) => [row.uid, String(row.parent).replaceAll("/", ":")]));
  const artifacts = new Map((exported.get("library_artifact") ?? []).map((row) => [row.uid, row]));
  for (const { artifact_uid: uid, path, digest } of exported.get("library_file") ?? []) {
    const { ecosystem, key } = artifacts.get(uid ?? null) ?? {};
    const folder = String(key).replaceAll(".", "/").replaceAll(":", "/");
    await get(
      ecosystem === 2
        ? `/libraries/python/${groups.get(uid ?? null)}/files/${String(digest).split(":")[1]}/${path}`
        : `/libraries/java/${groups.get(uid ?? null)}/${folder}/${path}`,
      String(digest),
    );
  }
  return answers;
}

async function download(client: RegistryClient, path: string, digest: string | undefined): Promise<string> {
  const { status, body } = await client.send("GET", path);
  const found = digestOf(body, digest?.split(":")[0]);
  if (status !== 200 || (digest !== undefined && found !== digest))
    throw new Error(`${path} was answered ${status} with ${found}: ${body.subarray(0, 200)}`);
  return found;
}
