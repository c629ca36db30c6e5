/** Looks for manifests and tags that lack what they refer to. */
import { sql } from "kysely";
import { type CutPage, cutPage } from "../../api/resource/page-bytes.ts";
import type { ReadDb } from "../../db/store.ts";
import { isDamagedManifest, neededBlobs, type StoredManifest } from "./stored-manifest.ts";

const ROWS_PER_PAGE = 200;

/**
 * Calls `onProblem` with a sentence for each problem. The entries of an index and layers that are elsewhere may be
 * missing, as a push accepts both.
 */
export async function checkManifests(db: ReadDb, onProblem: (problem: string) => void): Promise<{ readonly manifests: number }> {
  let manifests = 0;
  for (let after = ""; ; ) {
    const repos = await db.selectFrom("repo").select("uid").where("uid", ">", after).orderBy("uid").limit(ROWS_PER_PAGE).execute();
    for (const { uid } of repos) manifests += await checkRepo(db, uid, onProblem);
    const last = repos.at(-1);
    if (last === undefined) return { manifests };
    after = last.uid;
  }
}

async function checkRepo(db: ReadDb, repoUid: string, onProblem: (problem: string) => void): Promise<number> {
  const { rows: tags } = await sql<{ name: string; digest: string }>`select t.name, t.digest from tag t where t.parent = ${repoUid}
    and t.digest <> '' and not exists (
      select 1 from manifest m where m.repo_uid = t.parent and m.digest = t.digest) order by t.name`.execute(db);
  for (const { name, digest } of tags)
    onProblem(`the tag ${name} of the repo ${repoUid} refers to the manifest ${digest}, which the repo has not`);
  let count = 0;
  for (let after = ""; ; ) {
    const { rows: page, hasMore } = await readPage(db, repoUid, after);
    const digests = page.map(({ digest }) => digest);
    const missing = await findMissingBlobs(db, repoUid, digests);
    for (const manifest of await readContents(db, repoUid, digests))
      for (const problem of problemsOf(manifest, repoUid, missing.get(manifest.digest) ?? [])) onProblem(problem);
    count += page.length;
    const last = page.at(-1);
    if (last === undefined || !hasMore) return count;
    after = last.digest;
  }
}

/** Ends a page by the bytes of its manifests, so that memory is bounded. */
async function readPage(db: ReadDb, repoUid: string, after: string): Promise<CutPage<{ readonly digest: string; readonly size: number }>> {
  const found = await db
    .selectFrom("manifest")
    .select(["digest", "size"])
    .where("repo_uid", "=", repoUid)
    .where("digest", ">", after)
    .orderBy("digest")
    .limit(ROWS_PER_PAGE + 1)
    .execute();
  return cutPage(found, ROWS_PER_PAGE, ({ size }) => size);
}

/** Blobs that the repo does not link, by the digest of the manifest that refers to them. */
async function findMissingBlobs(db: ReadDb, repoUid: string, digests: readonly string[]): Promise<ReadonlyMap<string, readonly string[]>> {
  const { rows } = await sql<{ holder: string; digest: string }>`select r.manifest_digest as holder, r.digest
    from ${db.dialect.valuesOf(digests)} as v cross join manifest_reference as r
    where r.repo_uid = ${repoUid} and r.manifest_digest = v.value and r.kind = 'blob' and not exists (
      select 1 from repo_blob as b where b.repo_uid = r.repo_uid and b.digest = r.digest) order by 1, 2`.execute(db);
  const byHolder = Map.groupBy(rows, ({ holder }) => holder);
  return new Map([...byHolder].map(([holder, held]) => [holder, held.map(({ digest }) => digest)]));
}

function readContents(db: ReadDb, repoUid: string, digests: readonly string[]): Promise<StoredManifest[]> {
  return db
    .selectFrom("manifest")
    .select(["digest", "media_type", "content"])
    .where("repo_uid", "=", repoUid)
    .where("digest", "in", (eb) => eb.selectFrom(db.dialect.valuesOf(digests).as("v")).select("v.value"))
    .orderBy("digest")
    .execute();
}

/** @param missing blobs that the manifest refers to and the repo does not link */
function problemsOf(manifest: StoredManifest, repoUid: string, missing: readonly string[]): string[] {
  const name = `the manifest ${manifest.digest} of the repo ${repoUid}`;
  const isDamaged = isDamagedManifest(manifest);
  const needed = isDamaged || missing.length === 0 ? undefined : neededBlobs(manifest);
  const lacking = missing.filter((digest) => needed?.has(digest) ?? true);
  return [
    ...(isDamaged ? [`the content of ${name} is damaged`] : []),
    ...lacking.map((digest) => `${name} refers to the blob ${digest}, which the repo has not`),
  ];
}
