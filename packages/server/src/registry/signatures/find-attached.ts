/** Finds the manifests that are attached to an image in its repo: its referrers, and those of cosign's tags. */
import type { ReadDb } from "../../db/store.ts";

export interface AttachedManifest {
  readonly digest: string;
  readonly media_type: string;
  readonly artifact_type: string | null;
  readonly size: number;
  readonly create_time: string;
}

const COLUMNS = ["digest", "media_type", "artifact_type", "size", "create_time"] as const;
const TAG_SUFFIXES = ["sig", "att", "sbom"];

/** By digest. @param after digest of the last manifest of the page before; the empty string for the first page */
export async function findAttached(
  db: ReadDb,
  { repoUid, digest }: { readonly repoUid: string; readonly digest: string },
  after: string,
  limit: number,
): Promise<readonly AttachedManifest[]> {
  const below = db.selectFrom("manifest").select(COLUMNS).where("repo_uid", "=", repoUid).where("digest", ">", after);
  const referrers = await below.where("subject", "=", digest).orderBy("digest").limit(limit).execute();
  const names = TAG_SUFFIXES.map((suffix) => `${digest.replace(":", "-")}.${suffix}`);
  const tags = db.selectFrom("tag").select("digest").where("parent", "=", repoUid).where("name", "in", names);
  const tagged = await below.where("digest", "in", tags).execute();
  const all = new Map([...referrers, ...tagged].map((manifest) => [manifest.digest, manifest]));
  return [...all.values()].sort((a, b) => (a.digest < b.digest ? -1 : 1)).slice(0, limit);
}

/** Undefined if the repo does not have the manifest. */
export async function readContent(db: ReadDb, repoUid: string, digest: string): Promise<Uint8Array | undefined> {
  const query = db.selectFrom("manifest").select("content").where("repo_uid", "=", repoUid).where("digest", "=", digest);
  return (await query.executeTakeFirst())?.content;
}
