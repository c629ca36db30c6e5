/** Turns the bearer token of an API call into its principal and current rights. No other code reads the Authorization header of a call. */
import { type Access, NO_ACCESS } from "../../access/capabilities.ts";
import type { Principal } from "../../access/principal.ts";
import { unauthenticated } from "../../lib/errors.ts";
import type { AccessRule } from "./operation.ts";

export interface Authenticator {
  /**
   * The caller of a token that was verified before, if its current rights are in memory. Undefined for any other token, also for one that
   * is refused.
   */
  recall?(token: string): Caller | undefined;
  /** Rejects with UNAUTHENTICATED unless the token is a valid access token of this server. */
  verify(token: string): Promise<Principal>;
  /** The current rights of the token. `exists` is false if its identity was deleted, or deactivated by its directory. */
  load(principal: Principal): Promise<{ readonly exists: boolean; readonly access: Access; readonly isEnded?: boolean }>;
}

export interface Caller {
  readonly principal: Principal | undefined;
  readonly access: Access;
}

const ANONYMOUS: Caller = { principal: undefined, access: NO_ACCESS };

/** Whether anonymous callers may call: the operation is public, or authenticates the caller itself. */
export function isOpen({ mode }: AccessRule): boolean {
  return mode === "public" || mode === "self";
}

/**
 * Open operations ignore the header, so that a stale token cannot make them fail.
 * @returns the caller at once if nothing has to be verified or read
 */
export function authenticate(rule: AccessRule, authorization: string | undefined, authenticator: Authenticator): Caller | Promise<Caller> {
  if (isOpen(rule)) return ANONYMOUS;
  const token = bearerToken(authorization);
  return authenticator.recall?.(token) ?? authenticateAnew(token, authenticator);
}

async function authenticateAnew(token: string, authenticator: Authenticator): Promise<Caller> {
  const principal = await authenticator.verify(token);
  const { exists, access, isEnded } = await authenticator.load(principal);
  if (isEnded === true) throw unauthenticated("the session of this token was ended; sign in again");
  if (!exists) throw unauthenticated("the identity of this token no longer exists");
  return { principal, access };
}

/** The token of an `Authorization: Bearer …` header (RFC 6750 §2.1); the scheme compares case-insensitively (RFC 9110 §11.1). */
export function bearerToken(authorization: string | undefined): string {
  if (authorization === undefined || authorization === "")
    throw unauthenticated("send an access token in the header Authorization: Bearer <token>");
  if (authorization.slice(0, 7).toLowerCase() !== "bearer ")
    throw unauthenticated("the Authorization header must have the form: Bearer <token>");
  const token = authorization.slice(7).trim();
  if (token === "") throw unauthenticated("the bearer token is empty");
  return token;
}
