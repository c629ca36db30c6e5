/**
 * Builds and parses the claims of Holt's own tokens that carry their limits (`narrow`) and their identity-provider
 * session (`idp`). Pure.
 */

import type { Principal, ProviderSession } from "../../access/principal.ts";
import { isRecord } from "../../lib/is-record.ts";
import { decodeCapabilities, encodeCapabilities } from "./capability-encoding.ts";
import { invalidToken } from "./jwt.ts";
import { isNarrowed, type Narrowing } from "./narrowing.ts";

/** @returns undefined if the token is not limited */
export function buildNarrowClaim(narrowing: Narrowing): Record<string, unknown> | undefined {
  if (!isNarrowed(narrowing)) return undefined;
  const { scopes, capabilities, within } = narrowing;
  return {
    ...(scopes !== undefined && { scopes }),
    ...(capabilities !== undefined && { cap: encodeCapabilities(capabilities) }),
    ...(within !== undefined && { within }),
  };
}

/** @throws UNAUTHENTICATED if the claim is malformed */
export function parseNarrowClaim(claim: unknown): Narrowing {
  if (claim === undefined) return { scopes: undefined, capabilities: undefined };
  if (!isRecord(claim)) throw invalidToken("not an access token");
  const { scopes, cap, within } = claim;
  if (scopes !== undefined && !isStringList(scopes)) throw invalidToken("not an access token");
  if (cap !== undefined && typeof cap !== "string") throw invalidToken("not an access token");
  if (within !== undefined && typeof within !== "string") throw invalidToken("not an access token");
  const capabilities = cap === undefined ? undefined : decodeCapClaim(cap);
  return { scopes, capabilities, ...(within !== undefined && { within }) };
}

function decodeCapClaim(cap: string): bigint {
  try {
    return decodeCapabilities(cap);
  } catch (error) {
    throw invalidToken("not an access token", error);
  }
}

/** Shortens mapping uids to their last segment, since mappings are children of their provider. */
export function buildSessionClaim({ provider, version, mappings, directoryMappings }: ProviderSession): Record<string, unknown> {
  const shorten = (uids: readonly string[]): string[] => uids.map((uid) => uid.slice(provider.length + 1));
  return {
    uid: provider,
    ...(version !== undefined && { version }),
    ...(mappings.length > 0 && { mappings: shorten(mappings) }),
    ...(directoryMappings.length > 0 && { directory: shorten(directoryMappings) }),
  };
}

/** @throws UNAUTHENTICATED if the claim is malformed */
export function parseSessionClaim(claim: unknown): Pick<Principal, "session"> {
  if (claim === undefined) return {};
  if (!isRecord(claim)) throw invalidToken("not an access token");
  const { uid: provider, version, mappings = [], directory = [] } = claim;
  if (version !== undefined && typeof version !== "number") throw invalidToken("not an access token");
  if (typeof provider !== "string" || !isStringList(mappings) || !isStringList(directory)) throw invalidToken("not an access token");
  const lengthen = (names: readonly string[]): string[] => names.map((name) => `${provider}/${name}`);
  return { session: { provider, version, mappings: lengthen(mappings), directoryMappings: lengthen(directory) } };
}

function isStringList(value: unknown): value is string[] {
  return Array.isArray(value) && value.every((element) => typeof element === "string");
}
