/** Where a role is used: by who has it, and by what promises it to people to come. */
import { sql } from "kysely";
import type { ReadDb } from "../../db/store.ts";

const USES = [
  ["role_binding", "role_uid"],
  ["external_group_role_mapping", "role_uid"],
  ["group_invite", "role_uid"],
  ["identity_provider", "default_role"],
] as const;

export function isBound(uid: string, db: ReadDb): Promise<boolean> {
  return isIn(USES[0], uid, db);
}

/** Whether groups of an identity provider give it for the length of a session. */
export function isMapped(uid: string, db: ReadDb): Promise<boolean> {
  return isIn(USES[1], uid, db);
}

/** Also where nobody has it yet: whoever takes it gets all that is in it then. */
export async function isHandedOut(uid: string, db: ReadDb): Promise<boolean> {
  for (const use of USES) if (await isIn(use, uid, db)) return true;
  return false;
}

async function isIn([table, column]: (typeof USES)[number], uid: string, db: ReadDb): Promise<boolean> {
  const { rows } = await sql`select 1 from ${sql.table(table)} where ${sql.ref(column)} = ${uid} limit 1`.execute(db);
  return rows.length > 0;
}
