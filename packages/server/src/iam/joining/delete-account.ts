/** Deletes a user's account and everything that belongs to that user alone. */
import { appendToCount } from "../../db/resource-count.ts";
import type { WriteDb } from "../../db/store.ts";
import { notFound } from "../../lib/errors.ts";
import { deleteBindings } from "../grants/bindings.ts";
import type { Grants } from "../grants/grants.ts";
import { assertNotLastOwner } from "./last-owner.ts";

/**
 * The account's tokens stop working with the commit. Accepted terms and past actions stay recorded under its uid, and
 * so does the directory's data about the person. A person who registers again gets
 * the same identity without rights, for which the old tokens are not valid.
 * @throws FAILED_PRECONDITION if an organization would be left without an owner
 */
export async function deleteAccount(db: WriteDb, uid: string, grants: Grants): Promise<void> {
  const found = await db.dialect.forDelete(db.selectFrom("identity").select("uid").where("uid", "=", uid)).executeTakeFirst();
  if (found === undefined) throw notFound("Identity", uid);
  await assertNotLastOwner(db, uid);
  await deleteBindings(db, "identity_uid", uid);
  for (const table of ["refresh_token", "login_session", "device_login", "access_request", "membership"] as const)
    await db.deleteFrom(table).where("identity_uid", "=", uid).execute();
  await db.deleteFrom("identity_metadata").where("uid", "=", uid).execute();
  await db.deleteFrom("identity").where("uid", "=", uid).execute();
  await appendToCount(db, "identity", uid, -1);
  await grants.recordChange(db, [uid]);
}
