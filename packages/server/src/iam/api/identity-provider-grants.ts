/** Changing who signs in by an identity provider hands out what the provider grants: its default role, and the roles of its mappings. */
import { type RawBuilder, sql } from "kysely";
import { capabilitySetFromHex } from "../../access/capability-set.ts";
import type { WriteCall } from "../../api/call/call.ts";
import { HoltError, permissionDenied } from "../../lib/errors.ts";
import { parentOf } from "../../lib/uid.ts";
import { assertHoldsAll, type EscalationCollaborators } from "./escalation.ts";

/** Throws PERMISSION_DENIED unless the caller holds everything that signing in by the provider grants at its organization. */
export async function assertHoldsGrants(idpUid: string, call: WriteCall, collaborators: EscalationCollaborators): Promise<void> {
  const defaultRole = sql`select default_role from identity_provider where uid = ${idpUid}`;
  await assertHoldsRoles(idpUid, sql`${defaultRole} union all ${mappedRoles(idpUid)}`, call, collaborators);
}

/** Throws PERMISSION_DENIED unless the caller holds everything that groups grant: provisioning decides who is in which group. */
export async function assertHoldsMapped(idpUid: string, call: WriteCall, collaborators: EscalationCollaborators): Promise<void> {
  await assertHoldsRoles(idpUid, mappedRoles(idpUid), call, collaborators);
}

function mappedRoles(idpUid: string): RawBuilder<unknown> {
  return sql`select role_uid from external_group_role_mapping where parent = ${idpUid}`;
}

/** The error does not name capabilities: a caller who may change the provider need not be able to read its roles. */
async function assertHoldsRoles(
  idpUid: string,
  roleUids: RawBuilder<unknown>,
  call: WriteCall,
  collaborators: EscalationCollaborators,
): Promise<void> {
  const { db } = call;
  const query = db.selectFrom("role").select("capabilities").where(sql<boolean>`uid in (${roleUids})`);
  // Locked against changes: a capability that is added to a role in the meantime would be handed out unchecked.
  const roles = await db.dialect.forShare(query).execute();
  const all = roles.reduce((set, role) => set | capabilitySetFromHex(role.capabilities), 0n);
  try {
    await assertHoldsAll(all, parentOf(idpUid), call, collaborators);
  } catch (error) {
    throw error instanceof HoltError
      ? permissionDenied("you do not hold everything that this identity provider grants to people who sign in", { resource: idpUid })
      : error;
  }
}
