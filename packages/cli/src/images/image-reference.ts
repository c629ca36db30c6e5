/** Finds the image that a caller names as REPO, REPO:TAG or REPO@DIGEST. */
import type { Invocation } from "../command/invocation.ts";
import { exitStatus, Failure, usageFailure } from "../failure.ts";

export interface ImageReference {
  /** uid, name or path of the repository. */
  readonly repo: string;
  readonly tag: string | undefined;
  readonly digest: string | undefined;
}

export interface Tag {
  readonly uid: string;
  readonly name: string;
  readonly digest: string;
  readonly updateTime?: string;
  readonly deprecated?: boolean;
}

export interface FoundImage {
  /** uid of the repository. */
  readonly repo: string;
  readonly digest: string;
  /** Undefined if the caller gave a digest. */
  readonly tag: Tag | undefined;
}

export type Caller = Pick<Invocation, "uid" | "session" | "signal">;

/** The help of an argument that is an image. */
export const IMAGE_HELP = "REPO, REPO:TAG or REPO@DIGEST; the tag is latest by default";

const DIGEST = /^sha(?:256|512):[0-9a-f]{64,128}$/;
/** Lists of tags leave these out by default. */
const ALL_TAGS = { include_dates: "true", include_epochs: "true", include_referrers: "true" };

export function parseImageReference(text: string): ImageReference {
  const at = text.indexOf("@");
  const named = at < 0 ? text : text.slice(0, at);
  const digest = at < 0 ? undefined : text.slice(at + 1);
  const colon = named.indexOf(":", named.lastIndexOf("/") + 1);
  const repo = colon < 0 ? named : named.slice(0, colon);
  const tag = colon < 0 ? undefined : named.slice(colon + 1);
  if (repo === "" || tag === "" || (digest !== undefined && !DIGEST.test(digest)))
    throw usageFailure(`"${text}" is not an image`, "for example: my-org/team-a/app:1.0 or my-org/team-a/app@sha256:…");
  return { repo, tag, digest };
}

/** @throws Failure if there is no such repository or tag */
export async function findImage(text: string, caller: Caller): Promise<FoundImage> {
  const reference = parseImageReference(text);
  const repo = await caller.uid("repo", reference.repo);
  if (reference.digest !== undefined) return { repo, digest: reference.digest, tag: undefined };
  const tag = await findTag(repo, { ...reference, tag: reference.tag ?? "latest" }, caller);
  return { repo, digest: tag.digest, tag };
}

async function findTag(repo: string, { repo: shown, tag: name }: { repo: string; tag: string }, caller: Caller): Promise<Tag> {
  const [tag] = await listTags(repo, { name }, caller);
  if (tag !== undefined) return tag;
  const advice = `see the tags with: holt images ls ${shown} --all-tags`;
  throw new Failure(`the repository ${shown} has no tag "${name}" that you can see`, { status: exitStatus.notFound, advice });
}

/** The names of the tags that point to the digest, sorted. */
export async function namesOfTags(repo: string, digest: string, caller: Caller): Promise<string[]> {
  return (await listTags(repo, { digest }, caller)).map(({ name }) => name).sort();
}

async function listTags(repo: string, filter: Readonly<Record<string, string>>, { session, signal }: Caller): Promise<Tag[]> {
  const query = { "uidp.children_of": repo, ...ALL_TAGS, ...filter };
  const { readAll } = await import("../operations/call-list.ts");
  const { rows } = await readAll(session().rest, { method: "GET", path: "/registry/v2/tags", query }, "tags", signal);
  return rows as unknown as Tag[];
}

export function pathOfImage({ repo, digest }: Pick<FoundImage, "repo" | "digest">): string {
  return `/holt/v1/repos/${repo}/digests/${digest}`;
}
