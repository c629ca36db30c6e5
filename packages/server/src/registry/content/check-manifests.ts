/** Looks for manifests and tags that lack what they refer to. */
import { sql } from "kysely";
import { digestOf, parseDigest } from "../../blobs/digest.ts";
import type { ReadDb } from "../../db/store.ts";

const ROWS_PER_PAGE = 200;

/** Calls `onProblem` with a sentence for each problem. The manifests of an index may be missing (sparse indexes). */
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
  const { rows: unlinked } = await sql<{ holder: string; digest: string }>`select r.manifest_digest as holder, r.digest
    from manifest_reference r where r.repo_uid = ${repoUid} and r.kind = 'blob' and not exists (
      select 1 from repo_blob b where b.repo_uid = r.repo_uid and b.digest = r.digest) order by 1, 2`.execute(db);
  for (const { holder, digest } of unlinked)
    onProblem(`the manifest ${holder} of the repo ${repoUid} refers to the blob ${digest}, which the repo has not`);
  const { rows: tags } = await sql<{ name: string; digest: string }>`select t.name, t.digest from tag t where t.parent = ${repoUid}
    and not exists (select 1 from manifest m where m.repo_uid = t.parent and m.digest = t.digest) order by t.name`.execute(db);
  for (const { name, digest } of tags)
    onProblem(`the tag ${name} of the repo ${repoUid} refers to the manifest ${digest}, which the repo has not`);
  return checkContents(db, repoUid, onProblem);
}

async function checkContents(db: ReadDb, repoUid: string, onProblem: (problem: string) => void): Promise<number> {
  let count = 0;
  for (let after = ""; ; ) {
    const rows = await db
      .selectFrom("manifest")
      .select(["digest", "content"])
      .where("repo_uid", "=", repoUid)
      .where("digest", ">", after)
      .orderBy("digest")
      .limit(ROWS_PER_PAGE)
      .execute();
    for (const { digest, content } of rows)
      if (digestOf(content, parseDigest(digest)?.algorithm) !== digest)
        onProblem(`the content of the manifest ${digest} of the repo ${repoUid} is damaged`);
    count += rows.length;
    const last = rows.at(-1);
    if (last === undefined) return count;
    after = last.digest;
  }
}
