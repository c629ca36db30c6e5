/** Finds the organizations in which a person is bound and that the person has neither joined nor left. */
import { type RawBuilder, sql } from "kysely";
import type { ReadDb } from "../../db/store.ts";

/** Organizations, also joined ones, among which pending ones are searched. */
const MAX_SEARCHED = 2000;

/**
 * Organizations whose provider the person has signed in with come first. Each organization is found by one step into an
 * index, however many bindings it has.
 */
export async function findPendingOrganizations(db: ReadDb, identityUid: string, limit: number): Promise<readonly string[]> {
  const firstAfter = (from: RawBuilder<unknown>) => sql`(select substr(min(parent), 1, 40) from role_binding
    where identity_uid = ${identityUid} and length(identity_uid) = 40 and parent > ${from})`;
  // "0" follows "/", so the next step passes over everything in the organization.
  const next = firstAfter(sql`organization.uid || '0'`);
  const { rows } = await sql<{ readonly uid: string }>`with recursive organization (uid, n) as (
      select ${firstAfter(sql`''`)}, 1
      union all
      select ${next}, n + 1 from organization where organization.uid is not null and n < ${sql.lit(MAX_SEARCHED)})
    select o.uid from organization as o left join membership as m on m.identity_uid = ${identityUid} and m.org_uid = o.uid
    where o.uid is not null and coalesce(m.state, 'signed_in') = 'signed_in'
    order by case when m.state is null then 1 else 0 end, o.uid limit ${sql.lit(limit)}`.execute(db);
  return rows.map(({ uid }) => uid);
}
