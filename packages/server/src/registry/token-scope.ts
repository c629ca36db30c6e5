/** Checks that the scope of a registry token contains the access that a request needs. Other tokens have no such scope. */
import type { RegistryAccess } from "../access/principal.ts";
import type { ContentCaller } from "../iam/content-login/content-callers.ts";
import { OciError } from "./oci-error.ts";

/** The actions in the scope of a registry token. */
export type RegistryAction = "pull" | "push" | "delete";

/** Access that the scope of a registry token must contain. */
export type NeededAccess = RepositoryAccess | typeof CATALOG;

export interface RepositoryAccess {
  readonly type: "repository";
  /** In the client's spelling. */
  readonly name: string;
  readonly action: RegistryAction;
}

/** The list of all repositories that the caller may see. */
export const CATALOG = { type: "registry", name: "catalog", action: "*" } as const;

/** The identity has the right, but the token's scope lacks it. A client answers with a request for another token. */
export class InsufficientScope extends OciError {
  readonly missing: NeededAccess;
  constructor(missing: NeededAccess, message = messageOf(missing)) {
    super("UNAUTHORIZED", message);
    this.missing = missing;
  }
}

function messageOf({ type, name, action }: NeededAccess): string {
  return type === "repository" ? `the token is not for ${action} of ${name}` : `the token is not for the ${name}`;
}

/** @throws InsufficientScope */
export function assertInScope(caller: ContentCaller, name: string, action: RegistryAction): void {
  assertContains(caller, { type: "repository", name, action });
}

/** @throws InsufficientScope */
export function assertCatalogInScope(caller: ContentCaller): void {
  assertContains(caller, CATALOG);
}

function assertContains({ principal: { registryAccess } }: ContentCaller, needed: NeededAccess): void {
  if (!includesAction(registryAccess, needed)) throw new InsufficientScope(needed);
}

/** @param registryAccess undefined for a token that is not limited to repositories */
export function includesAction(
  registryAccess: readonly RegistryAccess[] | undefined,
  { type, name, action }: { readonly type: string; readonly name: string; readonly action: string },
): boolean {
  if (registryAccess === undefined) return true;
  return registryAccess.some((entry) => entry.type === type && entry.name === name && entry.actions.includes(action));
}
