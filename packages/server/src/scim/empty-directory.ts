/**
 * Deletes most of a large directory in chunks before its identity provider is deleted. The transaction that deletes the
 * provider deletes the rest and all deactivated users, who must stay deactivated until then.
 */
import { sql } from "kysely";
import type { Store } from "../db/store.ts";
import { deleteAllButLastChunk, deleteRows, type Rows } from "../jobs/delete-in-chunks.ts";

/** Does nothing with a directory of ordinary size. It can be repeated if it was interrupted. */
export type EmptyDirectory = (idpUid: string) => Promise<void>;

/** Rows per transaction, and rows that may be left for the last transaction. */
const CHUNK_SIZE = 2_000;

export function createDirectoryEmptying(store: Store, chunkSize = CHUNK_SIZE): EmptyDirectory {
  return async (idpUid) => {
    for (const rows of rowsOf(idpUid)) await deleteAllButLastChunk({ store, chunkSize }, rows, (db, limit) => deleteRows(db, rows, limit));
  };
}

function rowsOf(idpUid: string): readonly Rows[] {
  const groups = sql`select id from scim_group where idp_uid = ${idpUid}`;
  const user = sql`select 1 from scim_user where scim_user.idp_uid = ${idpUid} and scim_user.external_id = scim_identity.external_id`;
  return [
    { table: "scim_group_member", key: ["group_id", "user_id"], condition: sql<boolean>`group_id in (${groups})` },
    { table: "scim_group", key: ["id"], condition: sql<boolean>`idp_uid = ${idpUid}` },
    { table: "scim_user", key: ["id"], condition: sql<boolean>`idp_uid = ${idpUid} and active = 1` },
    {
      table: "scim_identity",
      key: ["idp_uid", "external_id", "identity_uid"],
      condition: sql<boolean>`idp_uid = ${idpUid} and not exists (${user})`,
    },
  ];
}
