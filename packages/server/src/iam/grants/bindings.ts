/** Bindings that go because something else goes: their group, or their identity. */
import { appendToCounts } from "../../db/resource-count.ts";
import type { WriteDb } from "../../db/store.ts";

/** Deletes all bindings in a group, or of an identity. @returns the identities whose rights may be others now */
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
