/** Who decides who comes in by an identity provider hands out what it grants: its default role, and the roles of its mappings. */
import { sql } from "kysely";
import { capabilitySetFromHex } from "../../access/capability-set.ts";
import type { WriteCall } from "../../api/call/call.ts";
import type { ServiceDependencies } from "../../dependencies-services.ts";
import { HoltError, permissionDenied } from "../../lib/errors.ts";
import { parentOf } from "../../lib/uid.ts";
import { assertHoldsAll } from "./escalation.ts";

/** Throws PERMISSION_DENIED unless the caller holds all that signing in by the provider gives at its organization. */
export async function assertHoldsGrants(idpUid: string, call: WriteCall, dependencies: ServiceDependencies): Promise<void> {
  const defaultRole = sql`select default_role from identity_provider where uid = ${idpUid}`;
  await assertHoldsRoles(idpUid, sql`${defaultRole} union all ${mappedRoles(idpUid)}`, call, dependencies);
}

/** The same of what being in a group gives: who provisions says who is in which. */
export async function assertHoldsMapped(idpUid: string, call: WriteCall, dependencies: ServiceDependencies): Promise<void> {
  await assertHoldsRoles(idpUid, mappedRoles(idpUid), call, dependencies);
}

function mappedRoles(idpUid: string) {
  return sql`select role_uid from external_group_role_mapping where parent = ${idpUid}`;
}

/** Says nothing of what the roles contain: whoever may change the provider need not be able to read them. */
async function assertHoldsRoles(
  idpUid: string,
  roleUids: ReturnType<typeof mappedRoles>,
  call: WriteCall,
  dependencies: ServiceDependencies,
): Promise<void> {
  const { db } = call;
  const query = db.selectFrom("role").select("capabilities").where(sql<boolean>`uid in (${roleUids})`);
  // Locked as they are: what is added to a role meanwhile would be handed out unchecked.
  const roles = await db.dialect.forShare(query).execute();
  const all = roles.reduce((set, role) => set | capabilitySetFromHex(role.capabilities), 0n);
  try {
    await assertHoldsAll(all, parentOf(idpUid), call, dependencies);
  } catch (error) {
    throw error instanceof HoltError
      ? permissionDenied("you do not hold all that this identity provider gives to those who sign in", { resource: idpUid })
      : error;
  }
}
