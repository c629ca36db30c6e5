/**
 * Parses and formats the `scope` of registry tokens: `repository:<name>:<action>[,<action>]` or `registry:catalog:*`,
 * separated by spaces. Pure.
 */
import type { NeededAccess } from "../token-scope.ts";

export interface Scope {
  readonly type: string;
  readonly name: string;
  readonly actions: readonly string[];
}

/** Clients request one token per push or pull, with one scope, or two for a mount. */
const MAX_SCOPES = 32;

/** Omits malformed scopes. The client gets a token for the others, and the registry refuses the rest with a challenge. */
export function parseScopes(texts: readonly string[]): Scope[] {
  const scopes = texts.flatMap((text) => text.split(" ")).map(parseScope);
  return scopes.filter((scope) => scope !== undefined).slice(0, MAX_SCOPES);
}

/** A name may contain colons, so only the first and the last colon separate. */
function parseScope(text: string): Scope | undefined {
  const first = text.indexOf(":");
  const last = text.lastIndexOf(":");
  if (first < 1 || last === first) return undefined;
  // A type may have a class, as in `repository(plugin)`, which has no meaning here.
  const type = text.slice(0, first).replace(/\([a-z0-9]+\)$/, "");
  const actions = text
    .slice(last + 1)
    .split(",")
    .filter((action) => action !== "");
  return { type, name: text.slice(first + 1, last), actions };
}

const ACTIONS: Readonly<Record<NeededAccess["action"], string>> = { pull: "pull", push: "pull,push", delete: "pull,delete", "*": "*" };

/** The scope to request. A push needs pull as well, because clients first check which blobs exist. */
export function scopeText({ type, name, action }: NeededAccess): string {
  return `${type}:${name}:${ACTIONS[action]}`;
}
