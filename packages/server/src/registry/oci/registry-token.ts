/** Mints registry tokens, which are valid for some actions on some repositories only. */
import { NO_ACCESS } from "../../access/capabilities.ts";
import type { RegistryAccess } from "../../access/principal.ts";
import type { Store } from "../../db/store.ts";
import type { ContentCaller } from "../../iam/content-login/content-callers.ts";
import { type AccessTokens, MAX_LIFETIME_SECONDS } from "../../iam/tokens/access-token.ts";
import type { Clock } from "../../lib/clock.ts";
import type { RepoCreationParts } from "../content/create-repo.ts";
import { allowedActions } from "../open-repo.ts";
import { CATALOG, includesAction } from "../token-scope.ts";
import type { Scope } from "./scope.ts";

export interface RegistryTokenOptions {
  readonly store: Store;
  readonly createFolder: RepoCreationParts["createFolder"];
  readonly clock: Clock;
  readonly accessTokens: AccessTokens;
  /** The audience of registry tokens. It is not the API's, so that the API refuses them. */
  readonly audience: string;
}

export interface RegistryToken {
  readonly token: string;
  readonly lifetimeSeconds: number;
  readonly access: readonly RegistryAccess[];
}

/** The token expires no later, and allows no more, than the token that the caller presented. */
export async function mintRegistryToken(
  caller: ContentCaller,
  scopes: readonly Scope[],
  options: RegistryTokenOptions,
): Promise<RegistryToken> {
  const { clock, accessTokens, audience } = options;
  const now = clock.now();
  const { expiry, issuedAt: _issuedAt, issuer: _issuer, ...carried } = caller.principal;
  const access = await grantedAccess(caller, scopes, options);
  const lifetimeSeconds = Math.min(MAX_LIFETIME_SECONDS, expiry - Math.floor(now.getTime() / 1000));
  const content = { ...carried, audience: [audience], access: NO_ACCESS, registryAccess: access, lifetimeSeconds };
  const { token } = await accessTokens.mint(content, now);
  return { token, lifetimeSeconds, access };
}

async function grantedAccess(caller: ContentCaller, scopes: readonly Scope[], options: RegistryTokenOptions): Promise<RegistryAccess[]> {
  const access: RegistryAccess[] = [];
  for (const scope of scopes) {
    const { type, name } = scope;
    const allowed = await allowedOf(scope, caller, options);
    const actions = allowed.filter((action) => includesAction(caller.principal.registryAccess, { type, name, action }));
    if (actions.length > 0) access.push({ type, name, actions });
  }
  return access;
}

/** Everybody may ask for the catalog, which lists only what the caller may see. */
async function allowedOf({ type, name, actions }: Scope, caller: ContentCaller, options: RegistryTokenOptions): Promise<readonly string[]> {
  if (type === CATALOG.type) return name === CATALOG.name && actions.includes(CATALOG.action) ? [CATALOG.action] : [];
  return type === "repository" ? allowedActions({ name, caller, wanted: actions }, options) : [];
}
