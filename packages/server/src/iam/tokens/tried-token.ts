/** Reads the token, or the claims of a token that does not exist yet, that are tried on identities. Pure. */
import { isCleanText } from "../../lib/clean-text.ts";
import { audiencesOf, type Claims, claimOf, invalidToken, normalizeIssuer, type ParsedJwt, parseJwt, stringClaim } from "./jwt.ts";
import { claimsFromPrincipal } from "./subject.ts";

/** A token, or the claims of a token that does not exist yet. */
export type TrialInput = { readonly token: string } | { readonly claims: Claims };

export interface TriedToken {
  /** Undefined if only claims are tried. */
  readonly token: ParsedJwt | undefined;
  readonly issuer: string;
  readonly subject: string | undefined;
  /** The claims that identities can match. */
  readonly claims: Claims;
  /** Whether it is a token of this server. */
  readonly isOurs: boolean;
}

/**
 * @param server issuer of this server
 * @throws UNAUTHENTICATED if the token is malformed, or no token can have the claims
 */
export function readTriedToken(input: TrialInput, server: string): TriedToken {
  const { token, issuer, claims: given } = parseInput(input);
  const isOurs = issuer === server;
  const claims = isOurs ? comparedClaims(given, server) : given;
  return { token, issuer, subject: stringClaim(claims, "sub"), claims, isOurs };
}

function parseInput(input: TrialInput): Pick<TriedToken, "token" | "issuer" | "claims"> {
  if ("claims" in input) return { token: undefined, ...checkClaims(input.claims) };
  const token = parseJwt(input.token);
  return { token, issuer: token.issuer, claims: token.claims };
}

function checkClaims(claims: Claims): { readonly issuer: string; readonly claims: Claims } {
  const issuer = stringClaim(claims, "iss") ?? "";
  if (issuer === "" || !isCleanText(issuer)) throw invalidToken("no issuer");
  if (!isCleanText(stringClaim(claims, "sub") ?? "")) throw invalidToken("the subject is not a valid string");
  return { issuer: normalizeIssuer(issuer), claims };
}

/** Identities can match only these claims of a Holt token. */
function comparedClaims(claims: Claims, issuer: string): Claims {
  const email = stringClaim(claims, "email");
  const uid = stringClaim(claims, "sub") ?? "";
  const emailVerified = claimOf(claims, "email_verified") === true;
  return claimsFromPrincipal({ issuer, uid, audience: audiencesOf(claims), email, emailVerified });
}
