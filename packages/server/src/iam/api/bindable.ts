/**
 * Checks whether an identity may be bound to a role at a group. Both exist, the role belongs to the group, the identity can
 * act there, and the caller holds all capabilities of the role.
 */
import { Capability } from "@holt/api/gen/platform/capabilities/capabilities_pb.ts";
import type { RoleBinding } from "@holt/api/gen/platform/iam/v2/role_bindings_pb.ts";
import { effectiveScope } from "../../access/capabilities.ts";
import { capabilitySet, capabilitySetFromHex } from "../../access/capability-set.ts";
import type { WriteCall } from "../../api/call/call.ts";
import { assertNone } from "../../api/resource/names.ts";
import type { WriteDb } from "../../db/store.ts";
import { type FieldViolation, HoltError, invalidArgument, notFound, permissionDenied } from "../../lib/errors.ts";
import { isAtOrBelow, isInRoot, isUid, parentOf } from "../../lib/uid.ts";
import { keepIdentity } from "../identities/identity-record.ts";
import { assertHoldsAll, type EscalationCollaborators } from "./escalation.ts";

const LIST_ROLES = capabilitySet([Capability.CAP_IAM_ROLES_LIST]);

/**
 * Throws if the binding is not allowed; its uids are well-formed. Rules that need only the uids come first: their errors reveal nothing of
 * what exists elsewhere.
 */
export async function assertBindable(
  { identityUid, roleUid }: RoleBinding,
  groupUid: string,
  call: WriteCall,
  collaborators: EscalationCollaborators,
): Promise<void> {
  assertRoleFits("role_uid", roleUid, groupUid);
  const home = isInRoot(identityUid) ? undefined : parentOf(identityUid);
  if (effectiveScope(groupUid, home) === undefined) {
    throw invalidArgument("identity_uid", "the identity acts only in the group that it was created in and below; this group is elsewhere");
  }
  if (home === undefined) await assertNoGroupOrRole(identityUid, call.db);
  // A user may be bound before the first sign-in: the uid follows from issuer and subject.
  else await keepIdentity(call.db, identityUid);
  await assertHoldsRole(roleUid, groupUid, call, collaborators);
}

/** A role that will be given at a group to people who are not known yet. */
export interface PromisedRole {
  /** The request's field that names the role. */
  readonly field: string;
  readonly roleUid: string;
  readonly groupUid: string;
}

/** Throws unless the caller may promise the role. Locks the role against changes until the transaction ends. */
export async function assertGrantable(
  { field, roleUid, groupUid }: PromisedRole,
  call: WriteCall,
  collaborators: EscalationCollaborators,
): Promise<void> {
  assertNone(uidViolations(field, roleUid));
  assertRoleFits(field, roleUid, groupUid);
  await assertHoldsRole(roleUid, groupUid, call, collaborators);
}

function assertRoleFits(field: string, roleUid: string, groupUid: string): void {
  if (!isInRoot(roleUid) && !isAtOrBelow(groupUid, parentOf(roleUid)))
    throw invalidArgument(field, "a custom role can be bound only in its own group and below");
}

/** A caller who cannot read a role learns from a refusal neither that the role exists nor what it contains. */
async function assertHoldsRole(roleUid: string, groupUid: string, call: WriteCall, collaborators: EscalationCollaborators): Promise<void> {
  const { db } = call;
  const isReadable = isInRoot(roleUid) || call.access.holds(LIST_ROLES, roleUid);
  // Locked against changes: a capability that is added to the role in the meantime would be handed out unchecked.
  const role = await db.dialect.forShare(db.selectFrom("role").select("capabilities").where("uid", "=", roleUid)).executeTakeFirst();
  try {
    if (role === undefined) throw notFound("Role", roleUid);
    await assertHoldsAll(capabilitySetFromHex(role.capabilities), groupUid, call, collaborators);
  } catch (error) {
    throw isReadable || !(error instanceof HoltError) ? error : permissionDenied("you cannot hand out this role", { resource: roleUid });
  }
}

export function uidViolations(field: string, uid: string): FieldViolation[] {
  if (uid === "") return [{ field, description: `${field} is required` }];
  return isUid(uid) ? [] : [{ field, description: `${field} must be a uid` }];
}

async function assertNoGroupOrRole(uid: string, db: WriteDb): Promise<void> {
  for (const table of ["group", "role"] as const) {
    const found = await db.selectFrom(table).select("uid").where("uid", "=", uid).executeTakeFirst();
    if (found !== undefined) throw invalidArgument("identity_uid", `identity_uid is the uid of a ${table}`);
  }
}
