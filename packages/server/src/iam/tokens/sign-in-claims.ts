/**
 * Builds and parses the claims of Holt's own tokens that say in which session (`sid`) and how (`amr`, `local`) a person
 * signed in. Pure.
 */
import type { Principal } from "../../access/principal.ts";
import { type Claims, claimOf, invalidToken } from "./jwt.ts";

type SignIn = Pick<Principal, "loginSession" | "auth">;

/** Tokens travel in headers, whose size is limited. */
const MAX_METHODS = 16;
const MAX_METHOD_LENGTH = 32;

export function buildSignInClaims({ loginSession, auth }: SignIn): Claims {
  return {
    ...(loginSession !== undefined && { sid: loginSession }),
    ...(auth !== undefined && { amr: auth.methods, ...(auth.isLocal && { local: true }) }),
  };
}

/** @throws UNAUTHENTICATED if a claim is malformed */
export function parseSignInClaims(claims: Claims): SignIn {
  const [sid, amr, local] = ["sid", "amr", "local"].map((name) => claimOf(claims, name));
  if (sid !== undefined && typeof sid !== "string") throw invalidToken("not an access token");
  if (amr !== undefined && !isStringList(amr)) throw invalidToken("not an access token");
  return {
    ...(sid !== undefined && { loginSession: sid }),
    ...(amr !== undefined && { auth: { methods: amr, isLocal: local === true } }),
  };
}

/** Methods that the token of an identity provider names. */
export function methodsFromClaims(claims: Claims): readonly string[] {
  const amr = claimOf(claims, "amr");
  const named = (Array.isArray(amr) ? amr : [amr]).filter((method): method is string => typeof method === "string");
  return named.filter((method) => /^[\w.:-]+$/.test(method) && method.length <= MAX_METHOD_LENGTH).slice(0, MAX_METHODS);
}

function isStringList(value: unknown): value is string[] {
  return Array.isArray(value) && value.every((element) => typeof element === "string");
}
