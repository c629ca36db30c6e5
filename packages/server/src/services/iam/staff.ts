/** Whether a caller runs this installation. */
import { isStaffAt } from "../../auth/staff.ts";
import type { Call } from "../../call/call.ts";
import type { ServiceDependencies } from "../dependencies.ts";

export function isStaff(
  { principal, access }: Pick<Call, "principal" | "access">,
  groupUid: string,
  { bootstrapOwner }: ServiceDependencies,
): boolean {
  return principal !== undefined && isStaffAt(groupUid, principal, access, bootstrapOwner);
}
