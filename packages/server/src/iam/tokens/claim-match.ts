/** Decides whether an identity accepts the claims of a token. The caller has verified the signature. */
import type { Identity_ClaimMatch, Identity_StaticKeys } from "@holt/api/gen/platform/iam/v2/identities_pb.ts";
import { dateFromTimestamp } from "../../lib/clock.ts";
import { permissionDenied } from "../../lib/errors.ts";
import type { AudienceList } from "./audience.ts";
import { audiencesOf, type Claims, claimOf, normalizeIssuer, type ParsedJwt, stringClaim } from "./jwt.ts";
import { createMatching, type MatchesPattern, matchesPattern } from "./pattern.ts";

/** Test derived from an exact or pattern field of a oneof; undefined if neither is set, which matches nothing. */
type Matcher = ((value: string) => boolean) | undefined;

/**
 * The same message whether the identity is missing or rejects the token, so that callers cannot probe for identities.
 */
export function claimMismatch(claim: string): Error {
  return permissionDenied(`the identity does not exist or does not accept this token: invalid "${claim}"`);
}

/** The claims of a verified token, and its issuer as `normalizeIssuer` returns it. */
export type IssuedClaims = Pick<ParsedJwt, "issuer" | "claims">;

/** Result of comparing claims with an identity: the accepted audience, or the first claim that does not match. */
export type ClaimComparison = { readonly audience: string; readonly mismatch?: undefined } | { readonly mismatch: string };

/**
 * Checks the issuer alone, before its keys are fetched.
 * @throws PERMISSION_DENIED
 */
export function assertIssuerMatches(match: Identity_ClaimMatch, issuer: string): void {
  if (!acceptsIssuer(match, issuer, matchesPattern)) throw claimMismatch("iss");
}

function acceptsIssuer({ iss }: Identity_ClaimMatch, issuer: string, matching: MatchesPattern): boolean {
  return iss.case === "issuer" ? issuer === normalizeIssuer(iss.value) : iss.case === "issuerPattern" && matching(iss.value, issuer);
}

/**
 * @param audiences accepted audiences if the identity names none
 * @returns the audience by which the token was accepted
 * @throws PERMISSION_DENIED with a message that contains `invalid "<claim>"`
 */
export function assertClaimsMatch(match: Identity_ClaimMatch, token: IssuedClaims, audiences: AudienceList): string {
  return requireMatch(compareClaims(match, token, audiences));
}

/**
 * Returns the result instead of throwing. Compares in this order: issuer, subject, audience, exact values, patterns.
 */
export function compareClaims(
  match: Identity_ClaimMatch,
  { issuer, claims }: IssuedClaims,
  audiences: AudienceList,
  matching: MatchesPattern = createMatching(),
): ClaimComparison {
  if (!acceptsIssuer(match, issuer, matching)) return { mismatch: "iss" };
  const { sub, aud } = match;
  const pattern =
    (text: string): Matcher =>
    (value) =>
      matching(text, value);
  const subject = sub.case === "subject" ? exact(sub.value) : sub.case === "subjectPattern" ? pattern(sub.value) : undefined;
  if (!matches(subject, stringClaim(claims, "sub"))) return { mismatch: "sub" };
  const wanted =
    aud.case === "audience"
      ? createAudienceMatcher(exact(aud.value))
      : aud.case === "audiencePattern"
        ? createAudienceMatcher(pattern(aud.value))
        : audiences;
  const comparison = compareAudience(claims, wanted);
  const mismatch = comparison.mismatch ?? findMismatch(claims, match.claims, exact) ?? findMismatch(claims, match.claimPatterns, pattern);
  return mismatch === undefined ? comparison : { mismatch };
}

/**
 * The caller has verified the token with the stored keys, so only their holder learns that they have expired.
 * @returns the audience by which the token was accepted
 * @throws PERMISSION_DENIED
 */
export function assertStaticKeysMatch(keys: Identity_StaticKeys, token: IssuedClaims, audiences: AudienceList, now: Date): string {
  if (areKeysExpired(keys, now)) throw permissionDenied("the keys of the identity have expired");
  return requireMatch(compareStaticKeys(keys, token, audiences));
}

/** Compares the claims only and returns the result instead of throwing. */
export function compareStaticKeys(keys: Identity_StaticKeys, { issuer, claims }: IssuedClaims, audiences: AudienceList): ClaimComparison {
  if (normalizeIssuer(keys.issuer) !== issuer) return { mismatch: "iss" };
  if (keys.subject === "" || stringClaim(claims, "sub") !== keys.subject) return { mismatch: "sub" };
  return compareAudience(claims, keys.audiences.length > 0 ? { has: (audience) => keys.audiences.includes(audience) } : audiences);
}

export function areKeysExpired({ expirationTime }: Identity_StaticKeys, now: Date): boolean {
  return expirationTime !== undefined && dateFromTimestamp(expirationTime) <= now;
}

/**
 * @returns the first audience of the token that is in `wanted`
 * @throws PERMISSION_DENIED
 */
export function assertAudience(claims: Claims, wanted: AudienceList): string {
  return requireMatch(compareAudience(claims, wanted));
}

export function compareAudience(claims: Claims, wanted: AudienceList): ClaimComparison {
  const audience = audiencesOf(claims).find((candidate) => wanted.has(candidate));
  return audience === undefined ? { mismatch: "aud" } : { audience };
}

function requireMatch(comparison: ClaimComparison): string {
  if (comparison.mismatch !== undefined) throw claimMismatch(comparison.mismatch);
  return comparison.audience;
}

/** Compares strings as they are: unlike in `createAudienceList`, a host does not match its URL. */
function createAudienceMatcher(matcher: Matcher): AudienceList {
  return { has: (audience) => matches(matcher, audience) };
}

function findMismatch(claims: Claims, wanted: Readonly<Record<string, string>>, matcherOf: (text: string) => Matcher): string | undefined {
  const isMisfit = ([name, text]: [string, string]) =>
    !comparableStrings(claimOf(claims, name)).some((value) => matches(matcherOf(text), value));
  return Object.entries(wanted).find(isMisfit)?.[0];
}

/**
 * The strings that a claim is compared as: one for each element of a list, and JSON for anything that is not a string.
 */
function comparableStrings(value: unknown): string[] {
  return Array.isArray(value) ? value.flatMap(comparableString) : comparableString(value);
}

function comparableString(value: unknown): string[] {
  if (value === undefined) return [];
  if (typeof value === "string") return [value];
  // Above 2^53 neighbouring integers parse as the same number, so they cannot identify anyone.
  if (typeof value === "number" && Number.isInteger(value) && !Number.isSafeInteger(value)) return [];
  return [JSON.stringify(value)];
}

function exact(text: string): Matcher {
  return (value) => value === text;
}

function matches(matcher: Matcher, value: string | undefined): boolean {
  return matcher !== undefined && value !== undefined && matcher(value);
}
