/** Deletes the role bindings of a group or an identity that is being deleted. */
import { appendToCounts } from "../../db/resource-count.ts";
import type { WriteDb } from "../../db/store.ts";

/** @returns uids of the identities whose rights may have changed */
export async function deleteBindings(db: WriteDb, column: "parent" | "identity_uid", uid: string): Promise<string[]> {
  const deleted = await db.deleteFrom("role_binding").where(column, "=", uid).returning(["uid", "identity_uid"]).execute();
  await appendToCounts(
    db,
    "role_binding",
    deleted.map((binding) => binding.uid),
    -1,
  );
  return [...new Set(deleted.map((binding) => binding.identity_uid))];
}
