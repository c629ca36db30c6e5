/** Keeps organizations from losing their last owner when a person leaves or deletes the account. */
import type { WriteDb } from "../../db/store.ts";
import { failedPrecondition } from "../../lib/errors.ts";
import { builtInRoles } from "../grants/built-in-roles.ts";

export const OWNER_ROLE = builtInRoles.find((role) => role.name === "owner")!.uid;
/** Organizations that the error message names at most. */
const MAX_NAMED_ORGANIZATIONS = 5;

/**
 * Only organizations that the person has joined count: anyone can make the person an owner of an organization of their
 * own. Locks the organizations, so that of two owners who leave at the same time, the second is refused as the last.
 * @param orgUid the only organization that the person leaves; all if undefined
 * @throws FAILED_PRECONDITION if an organization would be left without an owner
 */
export async function assertNotLastOwner(db: WriteDb, uid: string, orgUid?: string): Promise<void> {
  const owned = db
    .selectFrom("role_binding as own")
    .innerJoin("membership", (on) =>
      on.onRef("membership.identity_uid", "=", "own.identity_uid").onRef("membership.org_uid", "=", "own.parent"),
    )
    .where("own.identity_uid", "=", uid)
    .where("own.role_uid", "=", OWNER_ROLE)
    .where("membership.state", "=", "joined");
  const all = db.selectFrom("group").select("uid").where("parent", "is", null).where("uid", "in", owned.select("own.parent"));
  const organizations = orgUid === undefined ? all : all.where("uid", "=", orgUid);
  await db.dialect.forUpdate(organizations.orderBy("uid")).execute();
  const left = await organizations
    .where(({ not, exists, selectFrom }) =>
      not(
        exists(
          selectFrom("role_binding as other")
            .innerJoin("identity", "identity.uid", "other.identity_uid")
            .leftJoin("membership as standing", (on) =>
              on.onRef("standing.identity_uid", "=", "other.identity_uid").onRef("standing.org_uid", "=", "other.parent"),
            )
            .select("other.uid")
            .whereRef("other.parent", "=", "group.uid")
            .where("other.role_uid", "=", OWNER_ROLE)
            .where("other.identity_uid", "!=", uid)
            .where((eb) => eb.or([eb("standing.state", "is", null), eb("standing.state", "!=", "left")])),
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
