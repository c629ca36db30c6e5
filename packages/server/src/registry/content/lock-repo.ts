/** The lock of a repo: pushes, deletions and changes of its content wait for each other. */
import type { WriteDb } from "../../db/store.ts";

/** Holds until the transaction ends. @returns false if the repo does not exist */
export async function lockRepo(db: WriteDb, uid: string): Promise<boolean> {
  const row = await db.dialect.forUpdate(db.selectFrom("repo").select("uid").where("uid", "=", uid)).executeTakeFirst();
  return row !== undefined;
}
