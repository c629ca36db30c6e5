/** Resolves the images that a request names by repo and tags. An image that the caller may not read does not exist for the caller. */
import { sql } from "kysely";
import type { Call } from "../../../api/call/call.ts";
import { listCapabilities } from "../../../api/resource/conditions.ts";
import { AmbiguousName, findNamedGroup, isUidSegment } from "../../../api/resource/named-groups.ts";
import { invalidArgument, notFound } from "../../../lib/errors.ts";
import { isUid } from "../../../lib/uid.ts";
import type { ImageName } from "../../reports/image-states.ts";

/** References of one request. */
export const MAX_REFS = 100;
const MAX_TAGS = 100;

export interface GivenRef {
  /** Name, `<organization>/[folder/…/]<name>`, the same behind the registry's host, or uid. */
  readonly repo: string;
  /** Empty stands for `latest`. */
  readonly tags: readonly string[];
}

/** An image that a request names. */
export interface ResolvedImage extends ImageName {
  /** The repo as the references to the image name it, each spelling once. */
  readonly spellings: readonly string[];
}

export interface RefsOptions {
  readonly registryHost: string;
  /** The field of the request that has the references. */
  readonly field: string;
  /** Called with the name of a repo that does not exist; by default it throws NOT_FOUND. */
  readonly onMissing?: ((repo: string) => void) | undefined;
}

/** Without duplicates; a tag need not exist. @throws INVALID_ARGUMENT on the field */
export async function resolveImageRefs(refs: readonly GivenRef[], options: RefsOptions, call: Call): Promise<ResolvedImage[]> {
  const { field, onMissing = refuseMissing } = options;
  if (refs.length === 0) throw invalidArgument(field, `${field} must have at least one element, such as repo:tag`);
  if (refs.length > MAX_REFS) throw invalidArgument(field, `${field} must have at most ${MAX_REFS} elements: send several requests`);
  const images = new Map<string, ResolvedImage>();
  for (const { repo, tags } of refs) {
    if (repo === "") throw invalidArgument(field, "repo is required");
    if (tags.length > MAX_TAGS) throw invalidArgument(field, `a repo may have at most ${MAX_TAGS} tags: send several requests`);
    const repo_uid = await findRepo(repo, options, call).catch((error: unknown) => {
      throw error instanceof AmbiguousName ? invalidArgument(field, error.message) : error;
    });
    if (repo_uid === undefined) {
      onMissing(repo);
      continue;
    }
    // PostgreSQL allows no NUL in a text, so no tag contains one.
    for (const tag of tags.length === 0 ? ["latest"] : tags.filter((tag) => !tag.includes("\0")))
      addSpelling(images, { repo_uid, tag }, repo);
  }
  return [...images.values()];
}

function addSpelling(images: Map<string, ResolvedImage>, { repo_uid, tag }: ImageName, repo: string): void {
  const key = `${repo_uid}:${tag}`;
  const spellings = images.get(key)?.spellings ?? [];
  images.set(key, { repo_uid, tag, spellings: spellings.includes(repo) ? spellings : [...spellings, repo] });
}

function refuseMissing(repo: string): void {
  throw notFound("Repo", repo.slice(0, 200));
}

/** @throws AmbiguousName */
async function findRepo(text: string, { registryHost }: RefsOptions, call: Call): Promise<string | undefined> {
  const name = text.startsWith(`${registryHost}/`) ? text.slice(registryHost.length + 1) : text;
  if (name.includes("\0")) return undefined;
  if (!isUid(name) && !name.includes("/")) return repoOfName(name, call);
  const { db, access } = call;
  const uid = isUid(name) ? name : await repoAt(name.split("/"), call);
  if (uid === undefined || !access.holds(listCapabilities(call), uid)) return undefined;
  return (await db.selectFrom("repo").select("uid").where("uid", "=", uid).executeTakeFirst())?.uid;
}

/** Repos of organizations that the caller has joined come first: anybody can bind the caller in an organization with the same repo. */
async function repoOfName(name: string, call: Call): Promise<string | undefined> {
  const scopes = call.access.scopes(listCapabilities(call));
  const joined = scopes.filter((uid) => call.access.hasJoined(uid));
  const found = await repoIn(joined, name, call);
  return found !== undefined || joined.length === scopes.length ? found : repoIn(scopes, name, call);
}

async function repoIn(groups: readonly string[], name: string, call: Call): Promise<string | undefined> {
  const scopes = call.db.dialect.valuesOf(groups);
  const { rows } = await sql<{ uid: string }>`
    select r.uid from ${scopes} as scope join repo as r on r.name = ${name} and r.uid >= scope.value and r.uid < scope.value || '0'
    limit 2`.execute(call.db);
  if (rows.length > 1) throw new AmbiguousName(`there are several repos named "${name}": use the uid, or the path with the organization`);
  return rows[0]?.uid;
}

async function repoAt(segments: readonly string[], { db, access }: Call): Promise<string | undefined> {
  const name = segments.at(-1) ?? "";
  const parent = await findNamedGroup(db, segments.slice(0, -1), access);
  if (parent === undefined) return undefined;
  const repos = db.selectFrom("repo").select("uid").where("parent", "=", parent);
  const byUid = isUidSegment(name) ? await repos.where("uid", "=", `${parent}/${name}`).executeTakeFirst() : undefined;
  return (byUid ?? (await repos.where("name", "=", name).executeTakeFirst()))?.uid;
}
