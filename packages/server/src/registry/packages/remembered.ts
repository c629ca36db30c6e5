/**
 * The condition under which the packages of a deleted manifest are kept: reports of the past need what a tag pointed to
 * at the end of a day.
 */
import { type RawBuilder, sql } from "kysely";

/** Counted from when the tag moved on; for a deleted tag, from when it was moved there. */
const RETENTION_MS = 100 * 24 * 60 * 60 * 1000;

/** @param digest SQL expression of a manifest's digest */
export function isRemembered(digest: RawBuilder<unknown>, now: Date): RawBuilder<boolean> {
  const since = new Date(now.getTime() - RETENTION_MS).toISOString();
  const later = sql`select 1 from tag_history as n where n.repo_uid = h.repo_uid and n.tag = h.tag and n.seq > h.seq`;
  return sql<boolean>`exists (select 1 from tag_history as h
    where h.digest in (select ${digest} union select p.digest from index_platform as p where p.manifest_digest = ${digest})
    and (h.time >= ${since} or exists (${later}))
    and not exists (${later} and (n.time < ${since} or substr(n.time, 1, 10) = substr(h.time, 1, 10))))`;
}
