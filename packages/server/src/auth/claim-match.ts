/** Whether a verified token is one that an identity accepts. Signatures are not its concern: the claims given here are believed. */
import type { Identity_ClaimMatch, Identity_StaticKeys } from "@holt/api/gen/platform/iam/v2/identities_pb.ts";
import { dateFromTimestamp } from "../lib/clock.ts";
import { permissionDenied } from "../lib/errors.ts";
import type { AudienceList } from "./audience.ts";
import { audiencesOf, type Claims, claimOf, normalizeIssuer, textClaim } from "./jwt.ts";
import { createMatching, matchesPattern } from "./pattern.ts";

/** What an exact or pattern member of a oneof asks of a value; undefined where neither is set, which nothing fulfils. */
type Matcher = ((value: string) => boolean) | undefined;

/** One text for identities that do not exist and for those that do not take the token: it does not tell them apart. */
export function refusal(claim: string): Error {
  return permissionDenied(`the identity does not exist or does not accept this token: invalid "${claim}"`);
}

/** Before any key is fetched: whether the identity takes tokens of this issuer at all. @throws PERMISSION_DENIED */
export function assertIssuerMatches({ iss }: Identity_ClaimMatch, issuer: string): void {
  const isMatch =
    iss.case === "issuer" ? issuer === normalizeIssuer(iss.value) : iss.case === "issuerPattern" && matchesPattern(iss.value, issuer);
  if (!isMatch) throw refusal("iss");
}

/**
 * @param audiences for whom a token must be where the identity does not say
 * @returns the audience by which the token was accepted
 * @throws PERMISSION_DENIED whose text has `invalid "<claim>"`
 */
export function assertClaimsMatch(match: Identity_ClaimMatch, issuer: string, claims: Claims, audiences: AudienceList): string {
  assertIssuerMatches(match, issuer);
  const { sub, aud } = match;
  const matching = createMatching();
  const pattern =
    (text: string): Matcher =>
    (value) =>
      matching(text, value);
  const subject = sub.case === "subject" ? exact(sub.value) : sub.case === "subjectPattern" ? pattern(sub.value) : undefined;
  if (!matches(subject, textClaim(claims, "sub"))) throw refusal("sub");
  const wanted =
    aud.case === "audience"
      ? createAudienceMatcher(exact(aud.value))
      : aud.case === "audiencePattern"
        ? createAudienceMatcher(pattern(aud.value))
        : audiences;
  const audience = assertAudience(claims, wanted);
  assertCustomClaims(claims, match.claims, exact);
  assertCustomClaims(claims, match.claimPatterns, pattern);
  return audience;
}

/**
 * The token must be verified with the stored keys beforehand: that they have expired is only for who holds them to know.
 * @returns the audience by which it was accepted
 * @throws PERMISSION_DENIED
 */
export function assertStaticKeysMatch(
  keys: Identity_StaticKeys,
  issuer: string,
  claims: Claims,
  audiences: AudienceList,
  now: Date,
): string {
  assertNotExpired(keys, now);
  if (normalizeIssuer(keys.issuer) !== issuer) throw refusal("iss");
  if (keys.subject === "" || textClaim(claims, "sub") !== keys.subject) throw refusal("sub");
  return assertAudience(claims, keys.audiences.length > 0 ? { has: (audience) => keys.audiences.includes(audience) } : audiences);
}

function assertNotExpired({ expirationTime }: Identity_StaticKeys, now: Date): void {
  if (expirationTime !== undefined && dateFromTimestamp(expirationTime) <= now)
    throw permissionDenied("the keys of the identity have expired");
}

/** @returns the first audience of the token that is among the wanted */
export function assertAudience(claims: Claims, wanted: AudienceList): string {
  const audience = audiencesOf(claims).find((candidate) => wanted.has(candidate));
  if (audience === undefined) throw refusal("aud");
  return audience;
}

/** An exact value is compared as it is: here a host does not stand for its URL. */
function createAudienceMatcher(matcher: Matcher): AudienceList {
  return { has: (audience) => matches(matcher, audience) };
}

function assertCustomClaims(claims: Claims, wanted: Readonly<Record<string, string>>, matcherOf: (text: string) => Matcher): void {
  for (const [name, text] of Object.entries(wanted)) {
    if (!textsOf(claimOf(claims, name)).some((value) => matches(matcherOf(text), value))) throw refusal(name);
  }
}

/** A claim as the texts it may be compared with: a list as each of its elements, anything that is not text as its JSON. */
function textsOf(value: unknown): string[] {
  return Array.isArray(value) ? value.flatMap(textOf) : textOf(value);
}

function textOf(value: unknown): string[] {
  if (value === undefined) return [];
  if (typeof value === "string") return [value];
  // Above 2^53 neighbouring integers are read as the same number: they identify nobody.
  if (typeof value === "number" && Number.isInteger(value) && !Number.isSafeInteger(value)) return [];
  return [JSON.stringify(value)];
}

function exact(text: string): Matcher {
  return (value) => value === text;
}

function matches(matcher: Matcher, value: string | undefined): boolean {
  return matcher !== undefined && value !== undefined && matcher(value);
}
