/** Who runs this installation: holders of the internal capability at a group, and the identity it began with. */
import { Capability } from "@holt/api/gen/platform/capabilities/capabilities_pb.ts";
import { isNarrowed } from "../../auth/narrowing.ts";
import type { Call } from "../../call/call.ts";
import { capabilitySet } from "../../lib/capability-set.ts";
import type { ServiceDependencies } from "../dependencies.ts";

const INTERNAL = capabilitySet([Capability.CAP_INTERNAL]);

/** A narrowed token leaves the bootstrap owner no more than what it says. */
export function isStaff(
  { principal, access }: Pick<Call, "principal" | "access">,
  groupUid: string,
  { bootstrapOwner }: ServiceDependencies,
): boolean {
  if (principal === undefined) return false;
  return (principal.uid === bootstrapOwner && !isNarrowed(principal)) || access.holds(INTERNAL, groupUid);
}
