/** Finds the images that a request names by repo, tag or digest, where the caller may read reports. */
import { sql } from "kysely";
import type { Call } from "../../../api/call/call.ts";
import { listCapabilities, within } from "../../../api/resource/conditions.ts";
import { isDigest } from "../../../blobs/digest.ts";
import { resourceExhausted } from "../../../lib/errors.ts";
import { isUid, rangeAtOrBelow } from "../../../lib/uid.ts";

/** Images per answer. */
const MAX_IMAGES = 100;

export interface WantedImages {
  /** Empty for all repos. */
  readonly repoId: string;
  /** Empty for the digests of tags. */
  readonly digest: string;
  /** Empty for all tags. Ignored if there is a digest. */
  readonly tag: string;
}

export interface FoundImage {
  readonly repoUid: string;
  readonly digest: string;
}

/** An index stands for its images, which have a report each. @throws RESOURCE_EXHAUSTED above MAX_IMAGES */
export async function findImages({ repoId, digest, tag }: WantedImages, call: Call): Promise<FoundImage[]> {
  const { db, access } = call;
  const isValid = digest === "" ? isUid(repoId) : isDigest(digest) && (repoId === "" || isUid(repoId));
  if (!isValid || tag.includes("\0")) return [];
  const visible = within(access.scopes(listCapabilities(call)).map(rangeAtOrBelow), sql.ref("m.repo_uid"), db.dialect);
  const inRepo = repoId === "" ? sql`1 = 1` : sql`m.repo_uid = ${repoId}`;
  const named =
    digest === ""
      ? sql`m.digest in (select t.digest from tag as t where t.parent = ${repoId} and (${tag} = '' or t.name = ${tag}))`
      : sql`m.digest = ${digest}`;
  const { rows } = await sql<{ repo_uid: string; digest: string }>`
    select distinct m.repo_uid, coalesce(p.manifest_digest, m.digest) as digest from manifest as m
      left join index_platform as p on p.digest = m.digest
    where ${named} and ${inRepo} and ${visible} order by 1, 2 limit ${MAX_IMAGES + 1}`.execute(db);
  if (digest !== "") return firstRepo(rows).map((row) => ({ repoUid: row.repo_uid, digest: row.digest }));
  if (rows.length > MAX_IMAGES)
    throw resourceExhausted(
      `the repo has more than ${MAX_IMAGES} tagged images; request one by digest or tag, or list them by holt.v1 VulnerabilitiesService`,
    );
  return rows.map((row) => ({ repoUid: row.repo_uid, digest: row.digest }));
}

/** Repos of an organization report the same of an image; a digest has one report per platform. */
function firstRepo(rows: readonly { readonly repo_uid: string; readonly digest: string }[]) {
  return rows.filter(({ repo_uid }) => repo_uid === rows[0]?.repo_uid);
}
