/**
 * Finds what a deletion removes from a repo: the manifest with its tags, then the manifests that only it kept, as
 * collection would (garbage.ts), and the blobs that only these manifests refer to. Reads a bounded number of rows.
 */
import { sql } from "kysely";
import { type BlobReference, countReferencesUpTo } from "../../blobs/references.ts";
import type { ReadDb } from "../../db/store.ts";
import { notFound } from "../../lib/errors.ts";
import { rootOf } from "../../lib/uid.ts";

export interface Removal {
  readonly repoUid: string;
  /** Names of the tags that are removed. */
  readonly tags: readonly string[];
  /** Digests of the manifests that are removed whatever refers to them. */
  readonly manifests: readonly string[];
  /** Digests of the manifests that lose a tag. */
  readonly untagged: readonly string[];
}

export interface RemovedManifest {
  readonly digest: string;
  readonly artifactType: string;
  readonly isReferrer: boolean;
}

export interface RemovedContent {
  readonly manifests: readonly RemovedManifest[];
  readonly blobCount: number;
  readonly freedBytes: number;
  /** Whether there is more than was counted. */
  readonly isPartial: boolean;
}

const MAX_MANIFESTS = 1000;
const MAX_BLOBS = 5000;
const MAX_TAGS = 10_000;

/** @throws HoltError NOT_FOUND */
export async function removalOf(db: ReadDb, repoUid: string, { digest, tag }: { digest: string; tag: string }): Promise<Removal> {
  const tagsOf = db.selectFrom("tag").select(["name", "digest"]).where("parent", "=", repoUid);
  if (tag !== "") {
    const found = await tagsOf.where("name", "=", tag).executeTakeFirst();
    if (found === undefined) throw notFound("Tag", tag.slice(0, 200));
    return { repoUid, tags: [tag], manifests: [], untagged: [found.digest] };
  }
  const manifests = db.selectFrom("manifest").select("digest").where("repo_uid", "=", repoUid);
  if (digest === "") {
    const repo = await db.selectFrom("repo").select("uid").where("uid", "=", repoUid).executeTakeFirst();
    if (repo === undefined) throw notFound("Repo", repoUid);
    const tags = await tagsOf.orderBy("name").limit(MAX_TAGS).execute();
    const all = await manifests.limit(MAX_MANIFESTS + 1).execute();
    return { repoUid, tags: tags.map(({ name }) => name), manifests: all.map((row) => row.digest), untagged: [] };
  }
  if ((await manifests.where("digest", "=", digest).executeTakeFirst()) === undefined) throw notFound("Image", digest.slice(0, 200));
  const tags = await tagsOf.where("digest", "=", digest).orderBy("name").limit(MAX_TAGS).execute();
  return { repoUid, tags: tags.map(({ name }) => name), manifests: [digest], untagged: [] };
}

export async function previewRemoval(db: ReadDb, removal: Removal, references: readonly BlobReference[]): Promise<RemovedContent> {
  const { repoUid } = removal;
  const gone = new Set(removal.manifests.slice(0, MAX_MANIFESTS));
  for (let candidates = removal.untagged; gone.size < MAX_MANIFESTS; candidates = []) {
    const loose = await findLoose(db, removal, [...candidates, ...(await findKept(db, repoUid, gone))], gone);
    if (loose.length === 0) break;
    for (const digest of loose) gone.add(digest);
  }
  const digests = [...gone];
  const blobs = await findFreedBlobs(db, repoUid, digests, references);
  return {
    manifests: await describe(db, repoUid, digests),
    blobCount: Math.min(blobs.length, MAX_BLOBS),
    freedBytes: blobs.slice(0, MAX_BLOBS).reduce((sum, { size, holders }) => sum + (Number(holders) <= 1 ? Number(size) : 0), 0),
    isPartial: gone.size >= MAX_MANIFESTS || blobs.length > MAX_BLOBS || removal.tags.length >= MAX_TAGS,
  };
}

/** The manifests that removed ones kept: the children of indexes, and referrers. */
async function findKept(db: ReadDb, repoUid: string, gone: ReadonlySet<string>): Promise<string[]> {
  if (gone.size === 0) return [];
  const wanted = sql`select value from ${db.dialect.valuesOf([...gone])} v`;
  const { rows } = await sql<{ digest: string }>`
    select r.digest from manifest_reference r
      where r.repo_uid = ${repoUid} and r.kind = 'manifest' and r.manifest_digest in (${wanted})
    union select m.digest from manifest m where m.repo_uid = ${repoUid} and m.subject in (${wanted})
    limit ${2 * MAX_MANIFESTS}`.execute(db);
  return rows.map(({ digest }) => digest).filter((digest) => !gone.has(digest));
}

/** Those of the manifests that no tag and no manifest keeps that stays. */
async function findLoose(db: ReadDb, removal: Removal, candidates: readonly string[], gone: ReadonlySet<string>): Promise<string[]> {
  if (candidates.length === 0) return [];
  const { repoUid, tags } = removal;
  const removed = db.dialect.valuesOf([...gone, ""]);
  const { rows } = await sql<{ digest: string }>`
    select m.digest from manifest m where m.repo_uid = ${repoUid}
      and m.digest in (select value from ${db.dialect.valuesOf(candidates)} v)
      and not exists (select 1 from tag t where t.parent = m.repo_uid and t.digest = m.digest
        and t.name not in (select value from ${db.dialect.valuesOf([...tags, ""])} n))
      and not exists (select 1 from manifest_reference r where r.repo_uid = m.repo_uid and r.digest = m.digest and r.kind = 'manifest'
        and r.manifest_digest not in (select value from ${removed} g))
      and not exists (select 1 from manifest s where s.repo_uid = m.repo_uid and s.digest = m.subject
        and s.digest not in (select value from ${removed} g))
    limit ${MAX_MANIFESTS}`.execute(db);
  return rows.map(({ digest }) => digest);
}

async function describe(db: ReadDb, repoUid: string, digests: readonly string[]): Promise<RemovedManifest[]> {
  if (digests.length === 0) return [];
  const rows = await db
    .selectFrom("manifest")
    .select(["digest", "media_type", "artifact_type", "subject"])
    .where("repo_uid", "=", repoUid)
    .where("digest", "in", db.selectFrom(db.dialect.valuesOf(digests).as("v")).select("v.value"))
    .orderBy("digest")
    .execute();
  return rows.map((row) => ({ digest: row.digest, artifactType: row.artifact_type || row.media_type, isReferrer: row.subject !== null }));
}

/**
 * The blobs that only these manifests of the repo refer to, with the number of their holders in the organization, counted
 * up to 2. Holders elsewhere do not count: the caller would learn which content other organizations have.
 */
async function findFreedBlobs(db: ReadDb, repoUid: string, digests: readonly string[], references: readonly BlobReference[]) {
  if (digests.length === 0) return [];
  const gone = db.dialect.valuesOf(digests);
  const { rows } = await sql<{ size: number; holders: number }>`
    select b.size, ${countReferencesUpTo(2, references, { digest: sql.ref("b.digest"), orgUid: rootOf(repoUid) })} as holders
    from (select distinct r.digest from manifest_reference r
      where r.repo_uid = ${repoUid} and r.kind = 'blob' and r.manifest_digest in (select value from ${gone} v)) d
    join repo_blob l on l.repo_uid = ${repoUid} and l.digest = d.digest
    join blob b on b.digest = d.digest
    where not exists (select 1 from manifest_reference o where o.repo_uid = ${repoUid} and o.digest = d.digest and o.kind = 'blob'
      and o.manifest_digest not in (select value from ${gone} v))
    limit ${MAX_BLOBS + 1}`.execute(db);
  return rows;
}
