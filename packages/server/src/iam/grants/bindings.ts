/** Deletes role bindings of a group or an identity. */
import { type RawBuilder, sql } from "kysely";
import { appendToCounts } from "../../db/resource-count.ts";
import type { WriteDb } from "../../db/store.ts";
import type { RoleBindingTable } from "../tables.ts";

/** @returns uids of the identities whose rights may have changed */
export async function deleteBindings(db: WriteDb, column: "parent" | "identity_uid", uid: string): Promise<string[]> {
  const deleted = await deleteBindingsOf(db, sql<boolean>`${sql.ref(column)} = ${uid}`);
  return [...new Set(deleted.map((binding) => binding.identity_uid))];
}

export type DeletedBinding = Pick<RoleBindingTable, "uid" | "parent" | "identity_uid" | "role_uid">;

/** @param limit bindings to delete at most; all if undefined */
export async function deleteBindingsOf(db: WriteDb, condition: RawBuilder<boolean>, limit?: number): Promise<DeletedBinding[]> {
  const chosen = db
    .selectFrom("role_binding")
    .select("uid")
    .where(condition)
    .$if(limit !== undefined, (query) => query.limit(limit ?? 0));
  const deleted = await db
    .deleteFrom("role_binding")
    .where((eb) => (limit === undefined ? condition : eb("uid", "in", chosen)))
    .returning(["uid", "parent", "identity_uid", "role_uid"])
    .execute();
  await appendToCounts(
    db,
    "role_binding",
    deleted.map((binding) => binding.uid),
    -1,
  );
  return deleted;
}
