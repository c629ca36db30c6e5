/**
 * Finds the manifests that describe the content of images: the images of an index, and SBOMs and attestations in the
 * same repo. Does for many images, including deleted ones, what registry/packages/descriptions.ts does for one.
 */
import { sql } from "kysely";
import type { ReadDb } from "../../db/store.ts";
import { resourceExhausted } from "../../lib/errors.ts";

/** A digest in a repo. */
export interface Image {
  readonly repo_uid: string;
  readonly digest: string;
}

const MAX_SOURCES = 100_000;
/** Images per query. */
const IMAGES_PER_QUERY = 500;

/**
 * The digests of the manifests of each image, in the order of the images. The packages of some may not have been read. Tags and
 * indexes may name manifests that only other repos have, whose packages the caller may not be allowed to see: they are left out. A
 * manifest that no repo has any more was deleted.
 */
export async function readImageSources(images: readonly Image[], db: ReadDb): Promise<string[][]> {
  const sources = images.map((): string[] => []);
  let left = MAX_SOURCES;
  for (let start = 0; start < images.length; start += IMAGES_PER_QUERY) {
    const wanted = images.slice(start, start + IMAGES_PER_QUERY).map((image, index) => ({ index: start + index, ...image }));
    const { rows } = await sql<{ index: number; digest: string }>`
      with wanted as materialized (
        select * from ${db.dialect.rowsOf(wanted, { index: "bigint", repo_uid: "text", digest: "text" })} as given),
      about as materialized (select w."index", w.repo_uid, w.digest from wanted as w
        union select w."index", w.repo_uid, p.manifest_digest from wanted as w join index_platform as p on p.digest = w.digest),
      named as (
        select a."index", a.repo_uid, a.digest from about as a
        union select a."index", m.repo_uid, m.digest from about as a join manifest as m on m.repo_uid = a.repo_uid and m.subject = a.digest
        union select a."index", a.repo_uid, t.digest from about as a join tag as t on t.parent = a.repo_uid
          and t.name in (replace(a.digest, ':', '-') || '.sbom', replace(a.digest, ':', '-') || '.att')
        union select w."index", w.repo_uid, r.digest from wanted as w
          join manifest_reference as r on r.repo_uid = w.repo_uid and r.manifest_digest = w.digest and r.kind = 'manifest')
      select n."index", n.digest from named as n
      where exists (select 1 from manifest as m where m.repo_uid = n.repo_uid and m.digest = n.digest)
        or not exists (select 1 from manifest as m where m.digest = n.digest)
      order by 1, 2 limit ${left + 1}`.execute(db);
    left -= rows.length;
    if (left < 0) throw resourceExhausted(`more than ${MAX_SOURCES} manifests describe these images; request fewer images or days`);
    for (const { index, digest } of rows) sources[Number(index)]?.push(digest);
  }
  return sources;
}
