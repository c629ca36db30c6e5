/** Who runs this installation: holders of the internal capability at a group, and the identity it began with. */
import { Capability } from "@holt/api/gen/platform/capabilities/capabilities_pb.ts";
import type { Access } from "../../access/capabilities.ts";
import { capabilitySet } from "../../access/capability-set.ts";
import { isNarrowed, type Narrowing } from "../tokens/narrowing.ts";

const INTERNAL = capabilitySet([Capability.CAP_INTERNAL]);

/** A narrowed token leaves the bootstrap owner no more than what it says. */
export function isStaffAt(groupUid: string, bearer: Narrowing & { readonly uid: string }, access: Access, bootstrapOwner: string): boolean {
  return (bearer.uid === bootstrapOwner && !isNarrowed(bearer)) || access.holds(INTERNAL, groupUid);
}
