/**
 * Decides who may recover or disable another person's account. A caller who recovers it can then act as the person,
 * and so needs the capability in each of the person's organizations, and all rights of the person.
 */
import type { Capability } from "@holt/api/gen/platform/capabilities/capabilities_pb.ts";
import { capabilitySet } from "../../access/capability-set.ts";
import type { WriteCall } from "../../api/call/call.ts";
import { notFound, permissionDenied } from "../../lib/errors.ts";
import { isUid } from "../../lib/uid.ts";
import { findAccountForUpdate } from "../accounts/account-record.ts";
import { joinedOrganizations } from "../joining/membership.ts";
import type { LocalAccountTable } from "../tables.ts";
import { isNarrowed } from "../tokens/narrowing.ts";
import { assertHoldsAllOf, type EscalationCollaborators } from "./escalation.ts";
import { isStaff } from "./staff.ts";

export interface ManagedAccount {
  readonly account: LocalAccountTable;
  /** Uid of an organization of the person in which the caller holds the capability; empty for the operator. */
  readonly organizationUid: string;
}

/**
 * Locks the account. Changes of the person's rights wait for the lock, too, so that the comparison of rights holds.
 * @throws NOT_FOUND, also for an account of which the caller sees nothing; PERMISSION_DENIED for one that others manage,
 * too, or that has more rights than the caller
 */
export async function findManaged(
  uid: string,
  capability: Capability,
  call: WriteCall,
  collaborators: EscalationCollaborators,
): Promise<ManagedAccount> {
  const account = isUid(uid) ? await findAccountForUpdate(call.db, uid) : undefined;
  if (account === undefined) throw notFound("Account", uid.slice(0, 200));
  const joined = await joinedOrganizations(call.db, uid);
  const held = joined.filter((organization) => call.access.holds(capabilitySet([capability]), organization));
  const isOperator = isStaff(call, "", collaborators);
  if (held.length === 0 && !isOperator) throw notFound("Account", uid.slice(0, 200));
  if (call.principal === undefined || isNarrowed(call.principal)) throw permissionDenied("this token is narrowed; sign in for this");
  if (held.length < joined.length && !isOperator)
    throw permissionDenied(
      "the person has joined other organizations, too, where you lack this capability; ask the operator of this server",
    );
  await assertHoldsAllOf(uid, call, collaborators);
  return { account, organizationUid: held[0] ?? "" };
}
