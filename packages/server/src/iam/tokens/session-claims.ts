/** How Holt's own tokens say what they were narrowed to and which identity provider signed their bearer in. Pure. */

import type { Principal, ProviderSession } from "../../access/principal.ts";
import { decodeCapabilities, encodeCapabilities } from "./capability-encoding.ts";
import { isRecord } from "./jwk-set.ts";
import { malformed } from "./jwt.ts";
import { isNarrowed, type Narrowing } from "./narrowing.ts";

/** Undefined where nothing is left out. */
export function narrowClaim(narrowing: Narrowing): Record<string, unknown> | undefined {
  if (!isNarrowed(narrowing)) return undefined;
  const { scopes, capabilities, within } = narrowing;
  return {
    ...(scopes !== undefined && { scopes }),
    ...(capabilities !== undefined && { cap: encodeCapabilities(capabilities) }),
    ...(within !== undefined && { within }),
  };
}

/** @throws UNAUTHENTICATED where the claim is none of ours */
export function narrowingOf(claim: unknown): Narrowing {
  if (claim === undefined) return { scopes: undefined, capabilities: undefined };
  if (!isRecord(claim)) throw malformed("not an access token");
  const { scopes, cap, within } = claim;
  if (scopes !== undefined && !isTexts(scopes)) throw malformed("not an access token");
  if (cap !== undefined && typeof cap !== "string") throw malformed("not an access token");
  if (within !== undefined && typeof within !== "string") throw malformed("not an access token");
  const capabilities = cap === undefined ? undefined : decoded(cap);
  return { scopes, capabilities, ...(within !== undefined && { within }) };
}

function decoded(cap: string): bigint {
  try {
    return decodeCapabilities(cap);
  } catch (error) {
    throw malformed("not an access token", error);
  }
}

/** Mappings are below their provider: the last segments of their uids say which. */
export function sessionClaim({ provider, version, mappings, directoryMappings }: ProviderSession): Record<string, unknown> {
  const shorten = (uids: readonly string[]): string[] => uids.map((uid) => uid.slice(provider.length + 1));
  return {
    uid: provider,
    ...(version !== undefined && { version }),
    ...(mappings.length > 0 && { mappings: shorten(mappings) }),
    ...(directoryMappings.length > 0 && { directory: shorten(directoryMappings) }),
  };
}

/** @throws UNAUTHENTICATED where the claim is none of ours */
export function sessionOf(claim: unknown): Pick<Principal, "session"> {
  if (claim === undefined) return {};
  if (!isRecord(claim)) throw malformed("not an access token");
  const { uid: provider, version, mappings = [], directory = [] } = claim;
  if (version !== undefined && typeof version !== "number") throw malformed("not an access token");
  if (typeof provider !== "string" || !isTexts(mappings) || !isTexts(directory)) throw malformed("not an access token");
  const lengthen = (names: readonly string[]): string[] => names.map((name) => `${provider}/${name}`);
  return { session: { provider, version, mappings: lengthen(mappings), directoryMappings: lengthen(directory) } };
}

function isTexts(value: unknown): value is string[] {
  return Array.isArray(value) && value.every((element) => typeof element === "string");
}
