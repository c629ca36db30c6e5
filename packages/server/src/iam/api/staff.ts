/** Whether a caller operates this installation. */
import type { Call } from "../../api/call/call.ts";
import { isStaffAt } from "../grants/staff.ts";

export interface StaffCollaborators {
  /** Uid of the identity that this installation began with; it is staff everywhere. */
  readonly bootstrapOwner: string;
}

export function isStaff(
  { principal, access }: Pick<Call, "principal" | "access">,
  groupUid: string,
  { bootstrapOwner }: StaffCollaborators,
): boolean {
  return principal !== undefined && isStaffAt(groupUid, principal, access, bootstrapOwner);
}
