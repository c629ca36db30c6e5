/** Deletes role bindings of a group or an identity. */
import { RoleBindingSchema } from "@holt/api/gen/platform/iam/v2/role_bindings_pb.ts";
import { type RawBuilder, sql } from "kysely";
import { recordRemoved } from "../../api/resource/write.ts";
import type { WriteDb } from "../../db/store.ts";
import type { RoleBindingTable } from "../tables.ts";

/** @returns uids of the identities whose rights may have changed */
export async function deleteBindings(db: WriteDb, column: "parent" | "identity_uid", uid: string): Promise<string[]> {
  const deleted = await deleteBindingsOf(db, sql<boolean>`${sql.ref(column)} = ${uid}`);
  return [...new Set(deleted.map((binding) => binding.identity_uid))];
}

export type DeletedBinding = Pick<RoleBindingTable, "uid" | "parent" | "identity_uid" | "role_uid">;

/**
 * Notes the deleted bindings for the audit entry of the transaction.
 * @param limit bindings to delete at most; all if undefined
 */
export async function deleteBindingsOf(db: WriteDb, condition: RawBuilder<boolean>, limit?: number): Promise<DeletedBinding[]> {
  const chosen = db
    .selectFrom("role_binding")
    .select("uid")
    .where(condition)
    .$if(limit !== undefined, (query) => query.limit(limit ?? 0));
  const deleted = await db
    .deleteFrom("role_binding")
    .where((eb) => (limit === undefined ? condition : eb("uid", "in", chosen)))
    .returning(["uid", "parent", "identity_uid", "role_uid", "body"])
    .execute();
  await recordRemoved({ table: "role_binding", schema: RoleBindingSchema }, deleted, db);
  return deleted;
}
