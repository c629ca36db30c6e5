/** Whether an identity may be given a role at a group: the two exist, the role belongs there, it can act there, and the caller holds all of it. */
import { Capability } from "@holt/api/gen/platform/capabilities/capabilities_pb.ts";
import type { RoleBinding } from "@holt/api/gen/platform/iam/v2/role_bindings_pb.ts";
import { effectiveScope } from "../../access/capabilities.ts";
import { capabilitySet, capabilitySetFromHex } from "../../access/capability-set.ts";
import type { WriteCall } from "../../api/call/call.ts";
import { assertNone } from "../../api/resource/names.ts";
import type { WriteDb } from "../../db/store.ts";
import type { ServiceDependencies } from "../../dependencies-services.ts";
import { HoltError, invalidArgument, notFound, permissionDenied } from "../../lib/errors.ts";
import { isAtOrBelow, isInRoot, isUid, parentOf } from "../../lib/uid.ts";
import { assertHoldsAll } from "./escalation.ts";

const LIST_ROLES = capabilitySet([Capability.CAP_IAM_ROLES_LIST]);

/** Throws unless it may. What can be said from the uids alone is said first: it tells nothing of what exists elsewhere. */
export async function assertBindable(
  { identityUid, roleUid }: RoleBinding,
  groupUid: string,
  call: WriteCall,
  dependencies: ServiceDependencies,
): Promise<void> {
  assertNone([...uidViolations("identity_uid", identityUid), ...uidViolations("role_uid", roleUid)]);
  assertPlaced("role_uid", roleUid, groupUid);
  const home = isInRoot(identityUid) ? undefined : parentOf(identityUid);
  if (effectiveScope(groupUid, home) === undefined) {
    throw invalidArgument("identity_uid", "the identity acts in the group it was made in and below; this group is elsewhere");
  }
  if (home === undefined) await assertNoGroupOrRole(identityUid, call.db);
  // A user may be bound before it first signs in: its uid is known from its issuer and subject.
  else await assertIdentityExists(identityUid, call.db);
  await assertHoldsRole(roleUid, groupUid, call, dependencies);
}

/**
 * Throws unless the caller may promise the role at the group to people to come. Locks the role as it is until the transaction ends.
 * @param field that names the role in the request
 */
export async function assertGrantable(
  field: string,
  roleUid: string,
  groupUid: string,
  call: WriteCall,
  dependencies: ServiceDependencies,
): Promise<void> {
  assertNone(uidViolations(field, roleUid));
  assertPlaced(field, roleUid, groupUid);
  await assertHoldsRole(roleUid, groupUid, call, dependencies);
}

function assertPlaced(field: string, roleUid: string, groupUid: string): void {
  if (!isInRoot(roleUid) && !isAtOrBelow(groupUid, parentOf(roleUid)))
    throw invalidArgument(field, "a custom role can be bound in its own group and below only");
}

/** Whoever cannot read a role learns from a refusal neither that it exists nor what it contains. */
async function assertHoldsRole(roleUid: string, groupUid: string, call: WriteCall, dependencies: ServiceDependencies): Promise<void> {
  const { db } = call;
  const isReadable = isInRoot(roleUid) || call.access.holds(LIST_ROLES, roleUid);
  // Locked as it is: what is added to the role meanwhile would be handed out unchecked.
  const role = await db.dialect.forShare(db.selectFrom("role").select("capabilities").where("uid", "=", roleUid)).executeTakeFirst();
  try {
    if (role === undefined) throw notFound("Role", roleUid);
    await assertHoldsAll(capabilitySetFromHex(role.capabilities), groupUid, call, dependencies);
  } catch (error) {
    throw isReadable || !(error instanceof HoltError) ? error : permissionDenied("you cannot hand out this role", { resource: roleUid });
  }
}

export function uidViolations(field: string, uid: string) {
  if (uid === "") return [{ field, description: `${field} is required` }];
  return isUid(uid) ? [] : [{ field, description: `${field} must be a uid` }];
}

async function assertIdentityExists(uid: string, db: WriteDb): Promise<void> {
  const identity = await db.dialect.forKeyShare(db.selectFrom("identity").select("uid").where("uid", "=", uid)).executeTakeFirst();
  if (identity === undefined) throw notFound("Identity", uid);
}

async function assertNoGroupOrRole(uid: string, db: WriteDb): Promise<void> {
  for (const table of ["group", "role"] as const) {
    const found = await db.selectFrom(table).select("uid").where("uid", "=", uid).executeTakeFirst();
    if (found !== undefined) throw invalidArgument("identity_uid", `identity_uid is the uid of a ${table}`);
  }
}
