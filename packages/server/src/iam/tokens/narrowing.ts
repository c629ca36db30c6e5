/** What a token leaves of its identity's rights: asked for by the client, inherited from the token that was exchanged, never wider than either. Pure. */
import { capabilityBit, capabilityByName } from "@holt/api";
import type { Access } from "../../access/capabilities.ts";
import type { Principal } from "../../access/principal.ts";
import { invalidArgument, permissionDenied } from "../../lib/errors.ts";
import { isUid } from "../../lib/uid.ts";

/** Undefined is: not narrowed in this way. */
export type Narrowing = Pick<Principal, "scopes" | "capabilities" | "within">;

export const NOT_NARROWED: Narrowing = { scopes: undefined, capabilities: undefined };

/** Whether a token is good for less than its identity. */
export function isNarrowed({ scopes, capabilities, within }: Narrowing): boolean {
  return scopes !== undefined || capabilities !== undefined || within !== undefined;
}

/** Tokens travel in headers. */
const MAX_SCOPES = 32;

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
    if (capability === undefined) throw invalidArgument("cap", `"${name}" is not a capability`);
    set |= 1n << BigInt(capabilityBit(capability));
  }
  return names.length === 0 ? undefined : set;
}

/**
 * What of `access` a new token leaves, where the exchanged token left only `inherited`.
 * @throws PERMISSION_DENIED where a wanted scope is one at which nothing is held
 */
export function narrow(access: Access, inherited: Narrowing, wanted: Narrowing): Narrowing {
  const left = access.narrowed(inherited.scopes, inherited.capabilities, inherited.within);
  for (const scope of wanted.scopes ?? []) {
    if (left.capabilitiesAt(scope) === 0n) throw permissionDenied(`the identity has no rights at scope "${scope}"`);
  }
  const masks = [inherited.capabilities, wanted.capabilities, ...stepsDown(left, inherited.scopes, wanted.scopes)].filter(
    (mask) => mask !== undefined,
  );
  return {
    scopes: wanted.scopes ?? inherited.scopes,
    capabilities: masks.length === 0 ? undefined : masks.reduce((a, b) => a & b),
    ...(inherited.within !== undefined && { within: inherited.within }),
  };
}

/**
 * A token for a group gives in the groups below it what is held at the group, and not what is bound down there. So a step from it to
 * a group below must not pick up the bindings of that group: the new token gets no capability that the old one lacked there.
 */
function stepsDown(left: Access, from: readonly string[] | undefined, to: readonly string[] | undefined): bigint[] {
  if (from === undefined || to === undefined || to.every((scope) => from.includes(scope))) return [];
  return to.map((scope) => left.capabilitiesAt(scope));
}
