/**
 * Computes which of its identity's rights a token keeps. The client may ask for less, and a token that is exchanged
 * never gains rights. Pure.
 */
import { capabilityBit, capabilityByName } from "@holt/api";
import type { Access } from "../../access/capabilities.ts";
import type { Principal } from "../../access/principal.ts";
import { invalidArgument, permissionDenied } from "../../lib/errors.ts";
import { didYouMean } from "../../lib/nearest.ts";
import { isUid } from "../../lib/uid.ts";

/** Limits of a token's rights. An undefined member does not limit anything. */
export type Narrowing = Pick<Principal, "scopes" | "capabilities" | "within">;

export const NOT_NARROWED: Narrowing = { scopes: undefined, capabilities: undefined };

/** Whether a token has fewer rights than its identity. */
export function isNarrowed({ scopes, capabilities, within }: Narrowing): boolean {
  return scopes !== undefined || capabilities !== undefined || within !== undefined;
}

/** Tokens travel in headers, whose size is limited. */
const MAX_SCOPES = 32;
/** Characters of a name that an error repeats. */
const MAX_QUOTED = 64;

/** @throws INVALID_ARGUMENT */
export function parseNarrowing(scopes: readonly string[], capabilities: readonly string[]): Narrowing {
  return { scopes: parseScopes(scopes), capabilities: parseCapabilities(capabilities) };
}

function parseScopes(scopes: readonly string[]): readonly string[] | undefined {
  const wanted = [...new Set(scopes.filter((scope) => scope !== ""))];
  if (wanted.length > MAX_SCOPES) throw invalidArgument("scopes", `must be at most ${MAX_SCOPES} groups`);
  if (!wanted.every(isUid)) throw invalidArgument("scopes", "must be uids of groups");
  return wanted.length === 0 ? undefined : wanted;
}

function parseCapabilities(names: readonly string[]): bigint | undefined {
  let set = 0n;
  for (const name of names) {
    const capability = capabilityByName.get(name);
    if (capability === undefined)
      throw invalidArgument("cap", `"${name.slice(0, MAX_QUOTED)}" is not a capability${didYouMean(name, capabilityByName.keys())}`);
    set |= 1n << BigInt(capabilityBit(capability));
  }
  return names.length === 0 ? undefined : set;
}

/**
 * Limits of a new token that is made from a token with the limits `inherited`.
 * @param access rights of the identity
 * @throws PERMISSION_DENIED for a wanted scope where the identity has no rights
 */
export function narrow(access: Access, inherited: Narrowing, wanted: Narrowing): Narrowing {
  const left = access.narrowed(inherited.scopes, inherited.capabilities, inherited.within);
  for (const scope of wanted.scopes ?? []) {
    if (left.capabilitiesAt(scope) === 0n) throw permissionDenied(`the identity has no rights at scope "${scope}"`);
  }
  const masks = [inherited.capabilities, wanted.capabilities, ...capabilitiesAtScopes(left, inherited.scopes, wanted.scopes)].filter(
    (mask) => mask !== undefined,
  );
  return {
    scopes: wanted.scopes ?? inherited.scopes,
    capabilities: masks.length === 0 ? undefined : masks.reduce((a, b) => a & b),
    ...(inherited.within !== undefined && { within: inherited.within }),
  };
}

/**
 * A token scoped to a group has, in the groups below, only the capabilities held at that group; bindings further down do
 * not count. Narrowing such a token to a group below must not add the bindings there. So the new token is limited to the
 * capabilities of the old token at its new scopes.
 */
function capabilitiesAtScopes(left: Access, from: readonly string[] | undefined, to: readonly string[] | undefined): bigint[] {
  if (from === undefined || to === undefined || to.every((scope) => from.includes(scope))) return [];
  return to.map((scope) => left.capabilitiesAt(scope));
}
