/**
 * Reads the bindings of a person in organizations that the person has not joined. Anyone can found organizations and bind
 * anyone there, so their number is limited: per organization, so that none crowds out the others, and in all.
 */
import { sql } from "kysely";
import type { Binding } from "../../access/capabilities.ts";
import type { ReadDb } from "../../db/store.ts";
import { bindingsFromRows } from "./binding-rows.ts";

/** Bindings that count in one organization, oldest first; fewer if there are more than ten organizations. */
export const MAX_PENDING_BINDINGS = 500;
export const MAX_PENDING_ORGANIZATIONS = 100;
const MAX_IN_ALL = 5000;
/** Organizations, also joined ones, among which pending ones are searched. */
const MAX_SEARCHED = 2000;

export async function readPendingBindings(db: ReadDb, uid: string): Promise<Binding[]> {
  const organizations = await findPendingOrganizations(db, uid);
  if (organizations.length === 0) return [];
  const limit = Math.min(MAX_PENDING_BINDINGS, Math.floor(MAX_IN_ALL / organizations.length));
  const oldest = organizations.map(
    (organization) => sql`select * from (
      select role_uid, parent, create_time, uid from role_binding
      where identity_uid = ${uid} and length(identity_uid) = 40 and substr(parent, 1, 40) = ${organization}
      order by create_time, uid limit ${limit}) as oldest`,
  );
  const { rows } = await sql<{ group: string; capabilities: string }>`
    select b.parent as "group", role.capabilities as capabilities from (${sql.join(oldest, sql` union all `)}) as b
    join role on role.uid = b.role_uid order by b.create_time, b.uid`.execute(db);
  return bindingsFromRows(rows);
}

/** Organizations whose provider the person has signed in with come first. Finds each organization by one step into an index. */
async function findPendingOrganizations(db: ReadDb, uid: string): Promise<readonly string[]> {
  const firstAfter = (from: ReturnType<typeof sql>) => sql`(select substr(min(parent), 1, 40) from role_binding
    where identity_uid = ${uid} and length(identity_uid) = 40 and parent > ${from})`;
  // "0" follows "/", so the next step passes over everything in the organization.
  const { rows } = await sql<{ readonly uid: string }>`with recursive organization (uid, n) as (
      select ${firstAfter(sql`''`)}, 1
      union all
      select ${firstAfter(sql`organization.uid || '0'`)}, n + 1 from organization where organization.uid is not null and n < ${sql.lit(MAX_SEARCHED)})
    select o.uid from organization as o left join membership as m on m.identity_uid = ${uid} and m.org_uid = o.uid
    where o.uid is not null and coalesce(m.state, 'signed_in') = 'signed_in'
    order by case when m.state is null then 1 else 0 end, o.uid limit ${sql.lit(MAX_PENDING_ORGANIZATIONS)}`.execute(db);
  return rows.map((row) => row.uid);
}
