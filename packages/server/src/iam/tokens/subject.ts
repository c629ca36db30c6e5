/** Describes who logged in, in the same shape for tokens of other issuers, Holt's own tokens and AWS proofs. Pure. */

import type { Principal } from "../../access/principal.ts";
import { type Claims, claimOf, stringClaim } from "./jwt.ts";

/** What the upstream says about the caller, as new tokens repeat it. Only people have more than an actor. */
export interface Profile extends Pick<Principal, "actor" | "email" | "emailVerified" | "upstream"> {}

const PROFILE_CLAIMS = ["email", "name", "picture", "given_name", "family_name", "nickname", "preferred_username", "locale"];
/** Further claims copied into `act`, which identify a workload. */
const ACTOR_CLAIMS = ["email", "job_workflow_ref", "repository", "ref"];

/** @param audience the audience by which the token was accepted; clients decode `act.aud` as a plain string */
function buildActor(claims: Claims, issuer: string, audience: string): Profile["actor"] {
  return { iss: issuer, sub: stringClaim(claims, "sub") ?? "", aud: audience, ...pickStrings(claims, ACTOR_CLAIMS) };
}

/** For people who log in with an issuer that the operator trusts: its claims about email and name are accepted. */
export function personProfile(claims: Claims, issuer: string, audience: string): Profile {
  return {
    actor: buildActor(claims, issuer, audience),
    email: stringClaim(claims, "email"),
    // Some issuers send the string "true".
    emailVerified: [true, "true"].includes(claimOf(claims, "email_verified") as boolean | string),
    upstream: pickStrings(claims, PROFILE_CLAIMS),
  };
}

/**
 * For people who log in with an organization's issuer, which the organization may run itself. Its claims about names
 * are shown. Its claim about the email counts in that organization only, so tokens do not repeat it.
 */
export function memberProfile(claims: Claims, issuer: string, audience: string): Profile {
  const { email: _email, ...upstream } = pickStrings(claims, PROFILE_CLAIMS);
  return { actor: buildActor(claims, issuer, audience), email: undefined, emailVerified: false, upstream };
}

/**
 * For workloads. The creator of an identity chooses its issuer, so the issuer's claims are not trusted: `act` shows
 * them, and nothing else uses them.
 */
export function workloadProfile(claims: Claims, issuer: string, audience: string): Profile {
  return profileFromActor(buildActor(claims, issuer, audience));
}

export function profileFromActor(actor: Profile["actor"]): Profile {
  return { actor, email: undefined, emailVerified: false, upstream: {} };
}

/** A Holt token that is exchanged keeps showing who logged in first. */
export function profileFromPrincipal({ actor, email, emailVerified, upstream }: Principal): Profile {
  return { actor, email, emailVerified, upstream };
}

/** Properties of a Holt token that other identities can match. */
export type PrincipalClaims = Pick<Principal, "issuer" | "uid" | "audience" | "email" | "emailVerified">;

/**
 * Claims of a Holt token, for identities that accept other identities. Has an email only if a person's login is at its
 * root.
 */
export function claimsFromPrincipal({ issuer, uid, audience, email, emailVerified }: PrincipalClaims): Claims {
  return { iss: issuer, sub: uid, aud: audience, ...(email !== undefined && { email, email_verified: emailVerified }) };
}

function pickStrings(claims: Claims, names: readonly string[]): Record<string, string> {
  const found = names.map((name) => [name, stringClaim(claims, name)] as const);
  return Object.fromEntries(found.filter((entry): entry is [string, string] => entry[1] !== undefined && entry[1] !== ""));
}
