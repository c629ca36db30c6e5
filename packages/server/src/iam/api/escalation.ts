/**
 * Callers hand out only capabilities that they hold themselves. Checked inside the transaction that hands out, against the rights that
 * the caller has in that transaction.
 */
import { capabilityName } from "@holt/api";
import { capabilitiesIn } from "../../access/capability-set.ts";
import type { WriteCall } from "../../api/call/call.ts";
import { permissionDenied } from "../../lib/errors.ts";
import type { Grants } from "../grants/grants.ts";
import { isStaff, type StaffCollaborators } from "./staff.ts";

export interface EscalationCollaborators extends StaffCollaborators {
  readonly grants: Grants;
}

/**
 * Throws PERMISSION_DENIED unless the caller holds all of `capabilities` at the group. Staff may hand out any capability, so that there
 * can be a first holder.
 */
export async function assertHoldsAll(
  capabilities: bigint,
  groupUid: string,
  call: WriteCall,
  collaborators: EscalationCollaborators,
): Promise<void> {
  const { principal } = call;
  if (principal === undefined) throw permissionDenied("sign in first");
  const { access: current } = await collaborators.grants.loadSession(principal, call.db);
  const missing = capabilities & ~current.capabilitiesAt(groupUid);
  if (missing === 0n || isStaff({ principal, access: current }, groupUid, collaborators)) return;
  const names = capabilitiesIn(missing).map((capability) => capabilityName(capability));
  const shown = names.length > 5 ? `${names.slice(0, 5).join(", ")} and ${names.length - 5} more` : names.join(", ");
  throw permissionDenied(`you cannot hand out capabilities that you do not hold at ${groupUid}: ${shown}`, {
    capability: names.join(", "),
    resource: groupUid,
  });
}

/** Length of a chain of identities, each of which accepts tokens of the one before; a longer chain is refused. */
const MAX_ASSUMED = 100;

/**
 * Throws PERMISSION_DENIED unless the caller holds all capabilities of an identity, and of all identities that accept its tokens. A caller
 * who changes how the identity signs in can act as each of them. That includes the rights that a disabled or deactivated person gets back.
 * Identities that would accept it by a pattern are not followed: their owners chose the pattern.
 */
export async function assertHoldsAllOf(identityUid: string, call: WriteCall, collaborators: EscalationCollaborators): Promise<void> {
  const assumed = new Set([identityUid]);
  for (const uid of assumed) {
    if (assumed.size > MAX_ASSUMED) throw permissionDenied("too many identities accept this one's tokens");
    const access = await collaborators.grants.loadWhenActive(uid, call.db);
    for (const [groupUid, capabilities] of access.entries()) await assertHoldsAll(capabilities, groupUid, call, collaborators);
    const accepting = await call.db.selectFrom("identity").select("uid").where("accepted_uid", "=", uid).limit(MAX_ASSUMED).execute();
    for (const row of accepting) assumed.add(row.uid);
  }
}
