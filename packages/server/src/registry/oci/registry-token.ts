/** Mints registry tokens, which are valid for some actions on some repositories only. */
import { NO_ACCESS } from "../../access/capabilities.ts";
import type { RegistryAccess } from "../../access/principal.ts";
import type { Store } from "../../db/store.ts";
import type { ContentCaller } from "../../iam/content-login/authenticate.ts";
import { type AccessTokens, MAX_LIFETIME_SECONDS } from "../../iam/tokens/access-token.ts";
import type { Clock } from "../../lib/clock.ts";
import { allowedActions } from "../open-repo.ts";
import type { Scope } from "./scope.ts";

export interface RegistryTokenOptions {
  readonly store: Store;
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
  { store, clock, accessTokens, audience }: RegistryTokenOptions,
): Promise<RegistryToken> {
  const now = clock.now();
  const { expiry, uid, actor, email, emailVerified, upstream, scopes: groups, capabilities, within, session } = caller.principal;
  const access = await grantedAccess(caller, scopes, store);
  const lifetimeSeconds = Math.min(MAX_LIFETIME_SECONDS, expiry - Math.floor(now.getTime() / 1000));
  const rest = { email, emailVerified, upstream, scopes: groups, capabilities, within, session };
  const content = { uid, actor, ...rest, audience: [audience], access: NO_ACCESS, registryAccess: access, lifetimeSeconds };
  const { token } = await accessTokens.mint(content, now);
  return { token, lifetimeSeconds, access };
}

async function grantedAccess(caller: ContentCaller, scopes: readonly Scope[], store: Store): Promise<RegistryAccess[]> {
  const access: RegistryAccess[] = [];
  for (const { type, name, actions } of scopes) {
    if (type !== "repository") continue;
    const allowed = await allowedActions(store.reader, name, caller, actions);
    const kept = allowed.filter((action) => includesAction(caller.principal.registryAccess, name, action));
    if (kept.length > 0) access.push({ type, name, actions: kept });
  }
  return access;
}

/** @param registryAccess undefined where the presented token is not limited to repositories */
function includesAction(registryAccess: readonly RegistryAccess[] | undefined, name: string, action: string): boolean {
  return registryAccess === undefined || registryAccess.some((entry) => entry.name === name && entry.actions.includes(action));
}
