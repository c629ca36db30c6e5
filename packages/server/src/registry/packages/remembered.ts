/** What was in images that are gone stays known for a while, since reports of the past ask for it: of what a tag named at the end of a day. */
import { type RawBuilder, sql } from "kysely";

/** From when the tag moved on, or was made, where it was deleted. */
const REMEMBERED_MS = 100 * 24 * 60 * 60 * 1000;

/** @param digest of a manifest, as a term of the query */
export function isRemembered(digest: RawBuilder<unknown>, now: Date): RawBuilder<boolean> {
  const since = new Date(now.getTime() - REMEMBERED_MS).toISOString();
  const later = sql`select 1 from tag_history as n where n.repo_uid = h.repo_uid and n.tag = h.tag and n.seq > h.seq`;
  return sql<boolean>`exists (select 1 from tag_history as h
    where h.digest in (select ${digest} union select p.digest from index_platform as p where p.manifest_digest = ${digest})
    and (h.time >= ${since} or exists (${later}))
    and not exists (${later} and (n.time < ${since} or substr(n.time, 1, 10) = substr(h.time, 1, 10))))`;
}
