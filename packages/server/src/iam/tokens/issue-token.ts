/** Issues the access token of an exchange: its audiences, the rights that are left, and its lifetime. */
import { invalidArgument, permissionDenied, unauthenticated } from "../../lib/errors.ts";
import type { Grants } from "../grants/grants.ts";
import { endedSession } from "../sessions/login-session.ts";
import { type AccessTokens, MAX_LIFETIME_SECONDS } from "./access-token.ts";
import type { AudienceList } from "./audience.ts";
import type { RefreshRequest } from "./exchange-request.ts";
import type { Login } from "./login.ts";
import { type Narrowing, NOT_NARROWED, narrow } from "./narrowing.ts";

export interface IssuedToken {
  readonly token: string;
  readonly expiry: Date;
}

export interface IssueParts {
  readonly accessTokens: AccessTokens;
  readonly grants: Grants;
  /** Audiences that Holt issues tokens for. */
  readonly issuable: AudienceList;
  readonly defaultAudience: string;
}

/** The facts of the request and its session that decide about the token. */
export interface TokenWish {
  readonly audience: readonly string[];
  readonly narrowing: Narrowing;
  /** Uid of the session that the token belongs to. */
  readonly loginSession: string | undefined;
}

const MAX_AUDIENCES = 8;

/**
 * @returns the token, and the narrowing that it got: that of the login and that of the request
 * @throws UNAUTHENTICATED, PERMISSION_DENIED
 */
export async function issueToken(
  login: Login,
  { audience, narrowing: wanted, loginSession }: TokenWish,
  now: Date,
  { grants, accessTokens }: IssueParts,
): Promise<{ readonly token: IssuedToken; readonly narrowing: Narrowing }> {
  assertAudiences(audience, login);
  const { identityUid: uid, session, auth } = login;
  const presented = { session, registered: login.registered, loginSession: login.loginSession, auth };
  const { exists, access, registered, isEnded } = await grants.loadSession({ uid, ...NOT_NARROWED, ...presented });
  if (isEnded) throw endedSession();
  if (!exists) throw unauthenticated("the identity no longer exists, or was deactivated");
  const narrowing = narrow(access, login.inherited, wanted);
  const left = access.narrowed(narrowing.scopes, narrowing.capabilities, narrowing.within);
  const lifetimeSeconds = remainingLifetimeSeconds(login, now);
  const claims = { ...login.profile, ...narrowing, session, registered, loginSession, auth };
  return { token: await accessTokens.mint({ uid, audience, access: left, ...claims, lifetimeSeconds }, now), narrowing };
}

/** @throws INVALID_ARGUMENT */
export function requestedAudiences({ aud }: Pick<RefreshRequest, "aud">, { issuable, defaultAudience }: IssueParts): readonly string[] {
  const wanted = [...new Set(aud.filter((audience) => audience !== ""))];
  if (wanted.length > MAX_AUDIENCES) throw invalidArgument("aud", `must be at most ${MAX_AUDIENCES} audiences`);
  const unknown = wanted.find((audience) => !issuable.has(audience));
  if (unknown !== undefined) throw invalidArgument("aud", `${JSON.stringify(unknown)} is not an audience of this server`);
  return wanted.length === 0 ? [defaultAudience] : wanted;
}

/** @throws PERMISSION_DENIED */
function assertAudiences(wanted: readonly string[], { audiences }: Login): void {
  const other = audiences && wanted.find((audience) => !audiences.has(audience));
  if (other !== undefined)
    throw permissionDenied(`the token lacks the audience ${JSON.stringify(other)}, so it cannot be exchanged for a token with it`);
}

function remainingLifetimeSeconds({ notAfter }: Login, now: Date): number {
  if (notAfter === undefined) return MAX_LIFETIME_SECONDS;
  const left = Math.floor(notAfter.getTime() / 1000) - Math.floor(now.getTime() / 1000);
  if (left <= 0) throw unauthenticated("the token has expired");
  return Math.min(left, MAX_LIFETIME_SECONDS);
}
