/** Decides who counts as staff of this installation: holders of the internal capability, and the bootstrap owner. */
import { Capability } from "@holt/api/gen/platform/capabilities/capabilities_pb.ts";
import type { Access } from "../../access/capabilities.ts";
import { capabilitySet } from "../../access/capability-set.ts";
import { isNarrowed, type Narrowing } from "../tokens/narrowing.ts";

const INTERNAL = capabilitySet([Capability.CAP_INTERNAL]);

/**
 * With a narrowed token, the bootstrap owner does not count as staff.
 * @param groupUid group at which the internal capability counts
 */
export function isStaffAt(groupUid: string, bearer: Narrowing & { readonly uid: string }, access: Access, bootstrapOwner: string): boolean {
  return (bearer.uid === bootstrapOwner && !isNarrowed(bearer)) || access.holds(INTERNAL, groupUid);
}
