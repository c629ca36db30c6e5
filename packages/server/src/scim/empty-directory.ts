/**
 * Takes away most of a large directory before its identity provider is deleted, piece by piece: all at once, everybody else who writes would wait for
 * seconds. What is left goes with the provider, in the transaction that deletes it; so do all who were deactivated, for until then they must stay so.
 */
import { sql } from "kysely";
import type { ReadDb, Store } from "../db/store.ts";

/** Does nothing with a directory of ordinary size. Who is cut short can begin again. */
export type EmptyDirectory = (idpUid: string) => Promise<void>;

/** So many rows of a kind may stay for the end, and so many go in one transaction. */
const PIECE = 2_000;

interface Kind {
  /** Of the rows to be deleted. */
  readonly table: string;
  readonly condition: (idpUid: string) => ReturnType<typeof sql<boolean>>;
  readonly keys: readonly string[];
}

const kinds: readonly Kind[] = [
  {
    table: "scim_group_member",
    condition: (idpUid) => sql<boolean>`group_id in (select id from scim_group where idp_uid = ${idpUid})`,
    keys: ["group_id", "user_id"],
  },
  { table: "scim_group", condition: (idpUid) => sql<boolean>`idp_uid = ${idpUid}`, keys: ["id"] },
  { table: "scim_user", condition: (idpUid) => sql<boolean>`idp_uid = ${idpUid} and active = 1`, keys: ["id"] },
  {
    table: "scim_identity",
    condition: (idpUid) =>
      sql<boolean>`idp_uid = ${idpUid} and not exists (select 1 from scim_user where scim_user.idp_uid = ${idpUid} and scim_user.external_id = scim_identity.external_id)`,
    keys: ["idp_uid", "external_id", "identity_uid"],
  },
];

export function createDirectoryEmptying(store: Store, piece = PIECE): EmptyDirectory {
  return async (idpUid) => {
    for (const kind of kinds) {
      while (await hasMore(store.reader, kind, idpUid, piece)) await store.transaction((db) => removePiece(db, kind, idpUid, piece));
    }
  };
}

async function hasMore(db: ReadDb, { table, condition }: Kind, idpUid: string, count: number): Promise<boolean> {
  const query = sql`select 1 from ${sql.table(table)} where ${condition(idpUid)} limit 1 offset ${count}`;
  return (await query.execute(db)).rows.length > 0;
}

async function removePiece(db: ReadDb, { table, condition, keys }: Kind, idpUid: string, piece: number): Promise<void> {
  const key = sql`(${sql.join(keys.map((name) => sql.ref(name)))})`;
  const chosen = sql`select ${sql.join(keys.map((name) => sql.ref(name)))} from ${sql.table(table)} where ${condition(idpUid)} limit ${piece}`;
  await sql`delete from ${sql.table(table)} where ${key} in (${chosen})`.execute(db);
}
