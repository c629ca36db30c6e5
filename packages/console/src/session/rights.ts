/** Rights of the person by uid. The server decides; the console disables refused actions. */
import { type DescMethod, getOption } from "@bufbuild/protobuf";
import { useQuery } from "@connectrpc/connect-query";
import { iam } from "@holt/api/gen/platform/annotations/annotations_pb.ts";
import { Auth } from "@holt/api/gen/platform/auth/v1/auth_pb.ts";
import { CapabilitySchema, name as capabilityName } from "@holt/api/gen/platform/capabilities/capabilities_pb.ts";

export interface Rights {
  /** Display name: name, email address, or uid. */
  readonly name: string;
  readonly uid: string;
  /** The groups at which the person holds capabilities; undefined while they are not known. */
  readonly groups: readonly { readonly uid: string; readonly name: string }[] | undefined;
  /**
   * Names of the capabilities that the method needs and that the person lacks at the uid. Empty while nothing is known.
   * @param needed a method, or names of capabilities
   */
  missing(needed: DescMethod | readonly string[], uid: string): readonly string[];
  /** Whether the person has all that the method needs at the uid. False while nothing is known. */
  may(method: DescMethod, uid: string): boolean;
  /** Whether the person has the role owner there or above, and so may grant every role. False while nothing is known. */
  isOwner(uid: string): boolean;
}

const capabilityNames = new Map(CapabilitySchema.values.map((value) => [value.number, getOption(value, capabilityName)]));

export function useRights(): Rights {
  const { data } = useQuery(Auth.method.validate, {});
  const held = (data?.capabilities ?? []).map(({ group, role, capabilities }) => ({
    uid: group?.id ?? "",
    role: role?.name ?? "",
    names: new Set([...(role?.capabilities ?? []), ...capabilities]),
  }));
  const heldAt = (uid: string) => held.filter((each) => uid === each.uid || uid.startsWith(`${each.uid}/`));
  function missing(needed: DescMethod | readonly string[], uid: string): readonly string[] {
    if (data === undefined) return [];
    const here = heldAt(uid);
    const wanted = "kind" in needed ? capabilitiesOf(needed) : needed;
    return wanted.filter((name) => !here.some(({ names }) => names.has(name)));
  }
  return {
    name: data?.profile?.name || data?.email || data?.subject || "",
    uid: data?.subject ?? "",
    groups: data?.capabilities.map(({ group }) => ({ uid: group?.id ?? "", name: group?.name ?? "" })),
    missing,
    may: (method, uid) => data !== undefined && missing(method, uid).length === 0,
    isOwner: (uid) => heldAt(uid).some(({ role }) => role === "owner"),
  };
}

/** The names of the capabilities that the contract demands for the method. */
function capabilitiesOf(method: DescMethod): readonly string[] {
  const { value } = getOption(method, iam).mode;
  const capabilities = typeof value === "object" && "capabilities" in value ? value.capabilities : [];
  return capabilities.map(nameOfCapability);
}

/** Such as `groups.list`. */
export function nameOfCapability(capability: number): string {
  return capabilityNames.get(capability) ?? String(capability);
}
