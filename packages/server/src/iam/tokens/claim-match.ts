/** Whether a verified token is one that an identity accepts. Signatures are not its concern: the claims given here are believed. */
import type { Identity_ClaimMatch, Identity_StaticKeys } from "@holt/api/gen/platform/iam/v2/identities_pb.ts";
import { dateFromTimestamp } from "../../lib/clock.ts";
import { permissionDenied } from "../../lib/errors.ts";
import type { AudienceList } from "./audience.ts";
import { audiencesOf, type Claims, claimOf, normalizeIssuer, textClaim } from "./jwt.ts";
import { createMatching, type MatchesPattern, matchesPattern } from "./pattern.ts";

/** What an exact or pattern member of a oneof asks of a value; undefined where neither is set, which nothing fulfils. */
type Matcher = ((value: string) => boolean) | undefined;

/** One text for identities that do not exist and for those that do not take the token: it does not tell them apart. */
export function refusal(claim: string): Error {
  return permissionDenied(`the identity does not exist or does not accept this token: invalid "${claim}"`);
}

/** What came of holding claims against an identity: the audience by which it takes them, or the first claim that does not fit. */
export type Fit = { readonly audience: string; readonly misfit?: undefined } | { readonly misfit: string };

/** Before any key is fetched: whether the identity takes tokens of this issuer at all. @throws PERMISSION_DENIED */
export function assertIssuerMatches(match: Identity_ClaimMatch, issuer: string): void {
  if (!takesIssuer(match, issuer, matchesPattern)) throw refusal("iss");
}

function takesIssuer({ iss }: Identity_ClaimMatch, issuer: string, matching: MatchesPattern): boolean {
  return iss.case === "issuer" ? issuer === normalizeIssuer(iss.value) : iss.case === "issuerPattern" && matching(iss.value, issuer);
}

/**
 * @param audiences for whom a token must be where the identity does not say
 * @returns the audience by which the token was accepted
 * @throws PERMISSION_DENIED whose text has `invalid "<claim>"`
 */
export function assertClaimsMatch(match: Identity_ClaimMatch, issuer: string, claims: Claims, audiences: AudienceList): string {
  return audienceOf(fitOfClaims(match, issuer, claims, audiences));
}

/** The same, said and not thrown. Claims are compared in this order: issuer, subject, audience, exact values, patterns. */
export function fitOfClaims(
  match: Identity_ClaimMatch,
  issuer: string,
  claims: Claims,
  audiences: AudienceList,
  matching: MatchesPattern = createMatching(),
): Fit {
  if (!takesIssuer(match, issuer, matching)) return { misfit: "iss" };
  const { sub, aud } = match;
  const pattern =
    (text: string): Matcher =>
    (value) =>
      matching(text, value);
  const subject = sub.case === "subject" ? exact(sub.value) : sub.case === "subjectPattern" ? pattern(sub.value) : undefined;
  if (!matches(subject, textClaim(claims, "sub"))) return { misfit: "sub" };
  const wanted =
    aud.case === "audience"
      ? createAudienceMatcher(exact(aud.value))
      : aud.case === "audiencePattern"
        ? createAudienceMatcher(pattern(aud.value))
        : audiences;
  const fit = fitOfAudience(claims, wanted);
  const misfit = fit.misfit ?? misfitAmong(claims, match.claims, exact) ?? misfitAmong(claims, match.claimPatterns, pattern);
  return misfit === undefined ? fit : { misfit };
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
  if (haveExpired(keys, now)) throw permissionDenied("the keys of the identity have expired");
  return audienceOf(fitOfStaticKeys(keys, issuer, claims, audiences));
}

/** The same of the claims, said and not thrown. */
export function fitOfStaticKeys(keys: Identity_StaticKeys, issuer: string, claims: Claims, audiences: AudienceList): Fit {
  if (normalizeIssuer(keys.issuer) !== issuer) return { misfit: "iss" };
  if (keys.subject === "" || textClaim(claims, "sub") !== keys.subject) return { misfit: "sub" };
  return fitOfAudience(claims, keys.audiences.length > 0 ? { has: (audience) => keys.audiences.includes(audience) } : audiences);
}

export function haveExpired({ expirationTime }: Identity_StaticKeys, now: Date): boolean {
  return expirationTime !== undefined && dateFromTimestamp(expirationTime) <= now;
}

/** @returns the first audience of the token that is among the wanted @throws PERMISSION_DENIED */
export function assertAudience(claims: Claims, wanted: AudienceList): string {
  return audienceOf(fitOfAudience(claims, wanted));
}

export function fitOfAudience(claims: Claims, wanted: AudienceList): Fit {
  const audience = audiencesOf(claims).find((candidate) => wanted.has(candidate));
  return audience === undefined ? { misfit: "aud" } : { audience };
}

function audienceOf(fit: Fit): string {
  if (fit.misfit !== undefined) throw refusal(fit.misfit);
  return fit.audience;
}

/** An exact value is compared as it is: here a host does not stand for its URL. */
function createAudienceMatcher(matcher: Matcher): AudienceList {
  return { has: (audience) => matches(matcher, audience) };
}

function misfitAmong(claims: Claims, wanted: Readonly<Record<string, string>>, matcherOf: (text: string) => Matcher): string | undefined {
  const isMisfit = ([name, text]: [string, string]) => !textsOf(claimOf(claims, name)).some((value) => matches(matcherOf(text), value));
  return Object.entries(wanted).find(isMisfit)?.[0];
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
