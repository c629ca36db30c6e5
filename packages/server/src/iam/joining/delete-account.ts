/** Deletes a user's account and everything that belongs to that user alone. */
import { appendToCount } from "../../db/resource-count.ts";
import type { WriteDb } from "../../db/store.ts";
import { failedPrecondition, notFound } from "../../lib/errors.ts";
import { deleteBindings } from "../grants/bindings.ts";
import { builtInRoles } from "../grants/built-in-roles.ts";
import type { Grants } from "../grants/grants.ts";

const OWNER_ROLE = builtInRoles.find((role) => role.name === "owner")!.uid;
/** Organizations that the error message names at most. */
const MAX_NAMED_ORGANIZATIONS = 5;

/**
 * The account's tokens stop working with the commit. Accepted terms and past actions stay recorded under its uid, and
 * so does the directory's data about the person. A person who registers again gets
 * the same identity without rights; access tokens from before are valid again then, until they expire.
 * @throws FAILED_PRECONDITION if an organization would be left without an owner
 */
export async function deleteAccount(db: WriteDb, uid: string, grants: Grants): Promise<void> {
  const found = await db.dialect.forDelete(db.selectFrom("identity").select("uid").where("uid", "=", uid)).executeTakeFirst();
  if (found === undefined) throw notFound("Identity", uid);
  await assertNotLastOwner(db, uid);
  await deleteBindings(db, "identity_uid", uid);
  for (const table of ["refresh_token", "device_login", "access_request"] as const)
    await db.deleteFrom(table).where("identity_uid", "=", uid).execute();
  await db.deleteFrom("identity_metadata").where("uid", "=", uid).execute();
  await db.deleteFrom("identity").where("uid", "=", uid).execute();
  await appendToCount(db, "identity", uid, -1);
  await grants.recordChange(db, [uid]);
}

/**
 * Locks the organizations, so that of two owners who delete their accounts at once, the second is refused as the last.
 */
async function assertNotLastOwner(db: WriteDb, uid: string): Promise<void> {
  const owned = db.selectFrom("role_binding as own").where("own.identity_uid", "=", uid).where("own.role_uid", "=", OWNER_ROLE);
  const organizations = db.selectFrom("group").select("uid").where("parent", "is", null).where("uid", "in", owned.select("own.parent"));
  await db.dialect.forUpdate(organizations.orderBy("uid")).execute();
  const left = await organizations
    .where(({ not, exists, selectFrom }) =>
      not(
        exists(
          selectFrom("role_binding as other")
            .innerJoin("identity", "identity.uid", "other.identity_uid")
            .select("other.uid")
            .whereRef("other.parent", "=", "group.uid")
            .where("other.role_uid", "=", OWNER_ROLE)
            .where("other.identity_uid", "!=", uid),
        ),
      ),
    )
    .orderBy("uid")
    .limit(MAX_NAMED_ORGANIZATIONS)
    .execute();
  if (left.length === 0) return;
  const named = left.map((row) => row.uid).join(", ");
  throw failedPrecondition("LAST_OWNER", `you are the last owner of ${named}; first make someone else owner there, or delete what you own`);
}
