/** Tells clients where to get a token, and for which scopes (Docker registry token specification, RFC 6750 §3). */
import { InsufficientScope, type NeededAccess } from "../token-scope.ts";
import { scopeText } from "./scope.ts";

export interface ChallengedRequest {
  /** The access that the request needs; empty if it needs no more than a valid token. */
  readonly needed: readonly NeededAccess[];
  readonly hasCredentials: boolean;
}

/**
 * @param error the error that the request is refused with
 * @returns the value of `WWW-Authenticate`
 */
export function challengeOf({ needed, hasCredentials }: ChallengedRequest, error: unknown, registryUrl: string): string {
  const parameters: [string, string][] = [
    ["realm", `${registryUrl}/token`],
    ["service", new URL(registryUrl).host],
  ];
  const missing = error instanceof InsufficientScope ? [error.missing] : [];
  const scopes = new Set([...needed, ...missing].filter(isQuotable).map(scopeText));
  if (scopes.size > 0) parameters.push(["scope", [...scopes].join(" ")]);
  if (hasCredentials) parameters.push(["error", error instanceof InsufficientScope ? "insufficient_scope" : "invalid_token"]);
  return `Bearer ${parameters.map(([name, value]) => `${name}="${value}"`).join(",")}`;
}

/** Clients choose the names, which must not break out of the quotes of the header. */
function isQuotable({ name }: NeededAccess): boolean {
  return /^[a-z0-9._/-]+$/.test(name);
}
