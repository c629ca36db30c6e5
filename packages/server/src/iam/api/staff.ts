/** Whether a caller runs this installation. */

import type { Call } from "../../api/call/call.ts";
import type { ServiceDependencies } from "../../dependencies-services.ts";
import { isStaffAt } from "../grants/staff.ts";

export function isStaff(
  { principal, access }: Pick<Call, "principal" | "access">,
  groupUid: string,
  { bootstrapOwner }: ServiceDependencies,
): boolean {
  return principal !== undefined && isStaffAt(groupUid, principal, access, bootstrapOwner);
}
