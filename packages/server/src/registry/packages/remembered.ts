/** The packages of deleted images are remembered for a while, for reports about the past: of images that a tag named at the end of a day. */
import { type RawBuilder, sql } from "kysely";

/** Since the tag was moved to another image; since it was created, if it was deleted. */
const REMEMBERED_MS = 100 * 24 * 60 * 60 * 1000;

/** A condition: the packages of a manifest are remembered. @param digest of the manifest, as a term of the query */
export function isRemembered(digest: RawBuilder<unknown>, now: Date): RawBuilder<boolean> {
  const since = new Date(now.getTime() - REMEMBERED_MS).toISOString();
  const later = sql`select 1 from tag_history as n where n.repo_uid = h.repo_uid and n.tag = h.tag and n.seq > h.seq`;
  return sql<boolean>`exists (select 1 from tag_history as h
    where h.digest in (select ${digest} union select p.digest from index_platform as p where p.manifest_digest = ${digest})
    and (h.time >= ${since} or exists (${later}))
    and not exists (${later} and (n.time < ${since} or substr(n.time, 1, 10) = substr(h.time, 1, 10))))`;
}
