/**
 * Records the platforms of an image and its size per platform, as far as manifests and configs tell: for the image, and
 * for all indexes that contain it. One transaction writes a bounded number of rows; image-facts-queue.ts does the rest.
 */
import { type RawBuilder, sql } from "kysely";
import type { ReadDb, WriteDb } from "../../db/store.ts";
import type { Manifest, Platform } from "./manifest.ts";

/** Images of an index that are recorded. Real indexes have about twenty. */
const MAX_IMAGES = 500;
/** Rows of a table that one transaction writes for the indexes above. */
export const MAX_ROWS = 1000;

export interface StoredImage {
  readonly repoUid: string;
  readonly digest: string;
  readonly manifest: Manifest;
  /** From the config; undefined for an index, or if the config does not say. */
  readonly platform: Platform | undefined;
}

/** Records the facts about a manifest that was just stored, for itself. */
export async function recordImageFacts(db: WriteDb, { repoUid, digest, manifest, platform }: StoredImage): Promise<void> {
  if (manifest.kind === "index") return recordFactsOfChildren(db, repoUid, digest);
  const { config, layers } = manifest;
  if (config === undefined || platform === undefined) return;
  const size = layers.reduce((sum, layer) => sum + layer.size, config.size);
  await db
    .insertInto("image")
    .values({ repo_uid: repoUid, digest, ...platform, manifest_digest: digest, config_digest: config.digest, size })
    .onConflict((conflict) => conflict.doNothing())
    .execute();
}

async function recordFactsOfChildren(db: WriteDb, repoUid: string, digest: string): Promise<void> {
  const children = sql`manifest_reference as r join image as i on i.repo_uid = r.repo_uid and i.digest = r.digest
    where r.repo_uid = ${repoUid} and r.manifest_digest = ${digest} and r.kind = 'manifest'
    order by r.digest, i.manifest_digest limit ${MAX_IMAGES}`;
  await sql`insert into image (repo_uid, digest, architecture, os, variant, manifest_digest, config_digest, size)
    select r.repo_uid, r.manifest_digest, i.architecture, i.os, i.variant, i.manifest_digest, i.config_digest, i.size
    from ${children} on conflict do nothing`.execute(db);
  // An existing row is updated, because that locks it: collection may be about to delete it (lost-scans.ts).
  await sql`insert into index_platform (digest, manifest_digest)
    select distinct c.digest, c.manifest_digest from (select r.manifest_digest as digest, i.manifest_digest from ${children}) as c
    where true on conflict (digest, manifest_digest) do update set digest = excluded.digest`.execute(db);
}

/** A manifest whose facts the indexes that contain it do not all have yet. */
export interface FactsToSpread {
  readonly repoUid: string;
  readonly digest: string;
  /** The indexes up to this digest have the facts. */
  readonly after: string;
}

/** The result of one step. */
export interface SpreadFacts {
  /** The largest number of rows that were written to one table. */
  readonly rows: number;
  /** The indexes that gained facts and are in other indexes themselves. */
  readonly gained: readonly string[];
  /** The last index that has the facts; undefined if all have them. */
  readonly after: string | undefined;
}

/**
 * Records the facts of a manifest for the next indexes that contain it directly: an index may be pushed before its
 * children. The repo's row must be locked.
 * @param maxRows rows per table; one index is written even if it has more
 */
export async function spreadImageFacts(db: WriteDb, { repoUid, digest, after }: FactsToSpread, maxRows: number): Promise<SpreadFacts> {
  const images = await countImages(db, repoUid, digest);
  if (images === 0) return { rows: 0, gained: [], after: undefined };
  const limit = Math.max(1, Math.floor(maxRows / images));
  const found = await findParents(db, { repoUid, digest, after }, limit + 1);
  const indexes = found.slice(0, limit);
  if (indexes.length === 0) return { rows: 0, gained: [], after: undefined };
  const changed = await copyFacts(db, { repoUid, digest, indexes });
  return {
    rows: indexes.length * images,
    gained: await withParents(db, repoUid, changed),
    after: found.length > limit ? indexes.at(-1) : undefined,
  };
}

async function countImages(db: ReadDb, repoUid: string, digest: string): Promise<number> {
  const some = db.selectFrom("image").select("digest").where("repo_uid", "=", repoUid).where("digest", "=", digest).limit(MAX_IMAGES);
  const { n } = await db
    .selectFrom(some.as("i"))
    .select((eb) => eb.fn.countAll().as("n"))
    .executeTakeFirstOrThrow();
  return Number(n);
}

/** @returns the indexes that did not have all of the facts */
async function copyFacts(
  db: WriteDb,
  { repoUid, digest, indexes }: { readonly repoUid: string; readonly digest: string; readonly indexes: readonly string[] },
): Promise<readonly string[]> {
  const image = sql`select * from image where repo_uid = ${repoUid} and digest = ${digest}
    order by architecture, os, variant limit ${MAX_IMAGES}`;
  const into: RawBuilder<unknown> = sql`cross join ${db.dialect.valuesOf(indexes)} as d where true on conflict do nothing returning digest`;
  const images = await sql<{ digest: string }>`insert into image
    (repo_uid, digest, architecture, os, variant, manifest_digest, config_digest, size)
    select f.repo_uid, d.value, f.architecture, f.os, f.variant, f.manifest_digest, f.config_digest, f.size
    from (${image}) as f ${into}`.execute(db);
  // Two images of an index can have the same platform, of which `image` has one.
  const platforms = sql`select manifest_digest from (${image}) as i union
    select manifest_digest from (select manifest_digest from index_platform where digest = ${digest} limit ${MAX_IMAGES}) as p`;
  const added = await sql<{ digest: string }>`insert into index_platform (digest, manifest_digest)
    select d.value, f.manifest_digest from (${platforms}) as f ${into}`.execute(db);
  return [...new Set([...images.rows, ...added.rows].map((row) => row.digest))];
}

/** The indexes that contain the manifest, ascending. */
async function findParents(db: ReadDb, { repoUid, digest, after }: FactsToSpread, limit: number): Promise<readonly string[]> {
  // By the index of references: in the order of the primary key, the database would scan all references of the repo.
  const { rows } = await sql<{ readonly parent: string }>`select manifest_digest as parent
    from ${db.dialect.readBy("manifest_reference", "manifest_reference_by_repo_uid_digest")}
    where repo_uid = ${repoUid} and digest = ${digest} and kind = 'manifest' and manifest_digest > ${after}
    order by manifest_digest limit ${limit}`.execute(db);
  return rows.map(({ parent }) => parent);
}

/** Those of the manifests that any index contains. */
async function withParents(db: ReadDb, repoUid: string, digests: readonly string[]): Promise<readonly string[]> {
  if (digests.length === 0) return [];
  const isContained = sql`exists (select 1 from manifest_reference as r
    where r.repo_uid = ${repoUid} and r.digest = v.value and r.kind = 'manifest')`;
  const { rows } = await sql<{ readonly digest: string }>`select v.value as digest from ${db.dialect.valuesOf(digests)} as v
    where ${isContained} order by v.value`.execute(db);
  return rows.map(({ digest }) => digest);
}
