/** Where a role is used: by the identities that have it, and by everything that promises it to future identities. */
import { sql } from "kysely";
import type { ReadDb } from "../../db/store.ts";

const BINDING = ["role_binding", "role_uid"] as const;
const MAPPING = ["external_group_role_mapping", "role_uid"] as const;
const INVITE = ["group_invite", "role_uid"] as const;
const DEFAULT_ROLE = ["identity_provider", "default_role"] as const;

type Use = typeof BINDING | typeof MAPPING | typeof INVITE | typeof DEFAULT_ROLE;

export function isBound(uid: string, db: ReadDb): Promise<boolean> {
  return isUsed(BINDING, uid, db);
}

/** Whether a group of an identity provider gives the role for the length of a session. */
export function isMapped(uid: string, db: ReadDb): Promise<boolean> {
  return isUsed(MAPPING, uid, db);
}

/** Also true while nobody has the role yet: a future identity gets all capabilities that the role has then. */
export async function isHandedOut(uid: string, db: ReadDb): Promise<boolean> {
  for (const use of [BINDING, MAPPING, INVITE, DEFAULT_ROLE]) if (await isUsed(use, uid, db)) return true;
  return false;
}

async function isUsed([table, column]: Use, uid: string, db: ReadDb): Promise<boolean> {
  const { rows } = await sql`select 1 from ${sql.table(table)} where ${sql.ref(column)} = ${uid} limit 1`.execute(db);
  return rows.length > 0;
}
