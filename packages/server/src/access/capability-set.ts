/** Sets of capabilities as bit sets in a bigint: bit b stands for the capability whose `bit` option is b. Pure. */
import { capabilityBit, capabilityByName } from "@holt/api";
import type { Capability } from "@holt/api/gen/platform/capabilities/capabilities_pb.ts";

const byNumber = [...capabilityByName.values()].sort((a, b) => a - b);
const masks = new Map<number, bigint>(byNumber.map((capability) => [capability, 1n << BigInt(capabilityBit(capability))]));

/** Skips numbers without a capability, such as retired ones in old data. */
export function capabilitySet(capabilities: Iterable<Capability>): bigint {
  let set = 0n;
  for (const capability of capabilities) set |= masks.get(capability) ?? 0n;
  return set;
}

/** The capabilities of a set, in the order of their enum numbers. */
export function capabilitiesIn(set: bigint): Capability[] {
  return byNumber.filter((capability) => (set & (masks.get(capability) ?? 0n)) !== 0n);
}

/** Whether `held` has all of `wanted`. */
export function hasAll(held: bigint, wanted: bigint): boolean {
  return (held & wanted) === wanted;
}

/** The form of a column: lower-case hexadecimal. */
export function hexFromCapabilitySet(set: bigint): string {
  return set.toString(16);
}

export function capabilitySetFromHex(hex: string): bigint {
  return BigInt(`0x${hex}`);
}
