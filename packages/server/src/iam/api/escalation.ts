/** Nobody hands out what they do not hold. Checked inside the transaction that hands out, on the rights as they stand in it. */
import { capabilityName } from "@holt/api";
import { capabilitiesIn } from "../../access/capability-set.ts";
import type { WriteCall } from "../../api/call/call.ts";
import type { ServiceDependencies } from "../../dependencies-services.ts";
import { permissionDenied } from "../../lib/errors.ts";
import { isStaff } from "./staff.ts";

/** Throws PERMISSION_DENIED unless the caller holds all of `capabilities` at the group. Staff may hand out anything: somebody must be able to be first. */
export async function assertHoldsAll(
  capabilities: bigint,
  groupUid: string,
  call: WriteCall,
  dependencies: ServiceDependencies,
): Promise<void> {
  const { principal } = call;
  if (principal === undefined) throw permissionDenied("nobody is signed in");
  const { access: current } = await dependencies.grants.loadSession(principal, call.db);
  const missing = capabilities & ~current.capabilitiesAt(groupUid);
  if (missing === 0n || isStaff({ principal, access: current }, groupUid, dependencies)) return;
  const names = capabilitiesIn(missing).map((capability) => capabilityName(capability));
  const shown = names.length > 5 ? `${names.slice(0, 5).join(", ")} and ${names.length - 5} more` : names.join(", ");
  throw permissionDenied(`you cannot hand out what you do not hold at ${groupUid}: ${shown}`, {
    capability: names.join(", "),
    resource: groupUid,
  });
}

/** Identities that one may become by assuming one after the other; a chain that is longer is refused. */
const MAX_ASSUMED = 100;

/**
 * Throws PERMISSION_DENIED unless the caller holds all that an identity has, and all that those have which accept its tokens:
 * who decides how it signs in can act as each of them. Patterns that would accept it are not followed: they are given by
 * whom they endanger.
 */
export async function assertHoldsAllOf(identityUid: string, call: WriteCall, dependencies: ServiceDependencies): Promise<void> {
  const assumed = new Set([identityUid]);
  for (const uid of assumed) {
    if (assumed.size > MAX_ASSUMED) throw permissionDenied("too many identities accept this one's tokens");
    const { access } = await dependencies.grants.load(uid, call.db);
    for (const [groupUid, capabilities] of access.entries()) await assertHoldsAll(capabilities, groupUid, call, dependencies);
    const accepting = await call.db.selectFrom("identity").select("uid").where("accepted_uid", "=", uid).limit(MAX_ASSUMED).execute();
    for (const row of accepting) assumed.add(row.uid);
  }
}
