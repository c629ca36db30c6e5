/** The `scope` of registry tokens: `repository:<name>:<action>[,<action>]`, several of them separated by spaces. Pure. */
import type { RegistryAction } from "../open-repo.ts";

export interface Scope {
  readonly type: string;
  readonly name: string;
  readonly actions: readonly string[];
}

/** One token is for one push or pull; a mount needs a second repository. */
const MAX_SCOPES = 32;

/** What cannot be read is left out: a token for less is what the client gets, and the registry then tells it what is missing. */
export function parseScopes(texts: readonly string[]): Scope[] {
  const scopes = texts.flatMap((text) => text.split(" ")).map(parseScope);
  return scopes.filter((scope) => scope !== undefined).slice(0, MAX_SCOPES);
}

/** Names may have colons in them, so the ends are what counts. */
function parseScope(text: string): Scope | undefined {
  const [first, last] = [text.indexOf(":"), text.lastIndexOf(":")];
  if (first < 1 || last === first) return undefined;
  // A type may carry a class, `repository(plugin)`, which says nothing here.
  const type = text.slice(0, first).replace(/\([a-z0-9]+\)$/, "");
  const actions = text
    .slice(last + 1)
    .split(",")
    .filter((action) => action !== "");
  return { type, name: text.slice(first + 1, last), actions };
}

const ACTIONS: Readonly<Record<RegistryAction, string>> = { pull: "pull", push: "pull,push", delete: "pull,delete" };

/** What a client should ask for to do that; whoever pushes looks first at what is there. */
export function scopeText(name: string, action: RegistryAction): string {
  return `repository:${name}:${ACTIONS[action]}`;
}
