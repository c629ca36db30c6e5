/** Keeps an organization from enabling provisioning before it has enough owners. */
import { capabilitySet, capabilitySetFromHex, hasAll } from "../../access/capability-set.ts";
import type { ReadDb } from "../../db/store.ts";
import { failedPrecondition } from "../../lib/errors.ts";
import { builtInRoles } from "../grants/built-in-roles.ts";

/** Owners that an organization needs before provisioning is enabled, since a directory may take rights from people by mistake. */
const MIN_OWNERS = 2;
const OWNER = capabilitySet(builtInRoles.find((role) => role.name === "owner")?.capabilities ?? []);

/** Counts bound owners only: a role that comes from a group is never stored as a binding. */
export async function assertOwners(organizationUid: string, db: ReadDb): Promise<void> {
  const rows = await db
    .selectFrom("role_binding")
    .innerJoin("role", "role.uid", "role_binding.role_uid")
    .select(["role_binding.identity_uid as identityUid", "role.capabilities as capabilities"])
    .distinct()
    .where("role_binding.parent", "=", organizationUid)
    .execute();
  const owners = new Set(rows.filter((row) => hasAll(capabilitySetFromHex(row.capabilities), OWNER)).map((row) => row.identityUid));
  if (owners.size < MIN_OWNERS)
    throw failedPrecondition(
      "TOO_FEW_OWNERS",
      `provisioning needs ${MIN_OWNERS} owners with role bindings at the organization, so that a fault in the directory cannot lock everybody out`,
    );
}
