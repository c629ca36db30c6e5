/**
 * Reads the bindings of a person in organizations that the person has not joined. Anyone can found organizations and bind
 * anyone there, so their number is limited: per organization, so that none crowds out the others, and in all.
 */
import { sql } from "kysely";
import type { Binding } from "../../access/capabilities.ts";
import type { ReadDb } from "../../db/store.ts";
import { findPendingOrganizations } from "../joining/pending-organizations.ts";
import { bindingsFromRows } from "./binding-rows.ts";

/** Bindings that count in one organization, oldest first; fewer if there are more than ten organizations. */
export const MAX_PENDING_BINDINGS = 500;
const MAX_PENDING_ORGANIZATIONS = 100;
const MAX_IN_ALL = 5000;

export async function readPendingBindings(db: ReadDb, uid: string): Promise<Binding[]> {
  const organizations = await findPendingOrganizations(db, uid, MAX_PENDING_ORGANIZATIONS);
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
