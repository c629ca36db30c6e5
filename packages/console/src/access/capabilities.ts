/** The capabilities that people give to roles, by domain: the part of their names before the last point. */
import { getOption } from "@bufbuild/protobuf";
import { type Capability, CapabilitySchema, internal_only } from "@holt/api/gen/platform/capabilities/capabilities_pb.ts";
import { nameOfCapability } from "../session/rights.ts";

export interface NamedCapability {
  readonly capability: Capability;
  /** Such as `groups.list`. */
  readonly name: string;
  /** Such as `groups`. */
  readonly domain: string;
  /** Such as `list`. */
  readonly action: string;
}

export function namedCapability(capability: Capability): NamedCapability {
  const name = nameOfCapability(capability);
  return { capability, name, domain: domainOf(name), action: name.split(".").at(-1) ?? name };
}

function domainOf(name: string): string {
  return name.split(".").slice(0, -1).join(".") || name;
}

/** Without those that only the operator of the server gives. */
export const assignableCapabilities: readonly NamedCapability[] = CapabilitySchema.values
  .filter((value) => value.number !== 0 && !getOption(value, internal_only))
  .map(({ number }) => namedCapability(number as Capability))
  .sort((a, b) => (a.name < b.name ? -1 : 1));
