/** What one who logs in has proved, whatever the proof was: the common ground of tokens of other issuers, of Holt's own, and of AWS. Types and plain reading only. */

import type { Principal } from "../../access/principal.ts";
import { type Claims, claimOf, textClaim } from "./jwt.ts";

/** The upstream's word on who it is, as the new token repeats it: on everybody the actor, on people the rest. */
export interface Profile extends Pick<Principal, "actor" | "email" | "emailVerified" | "upstream"> {}

const PROFILE_CLAIMS = ["email", "name", "picture", "given_name", "family_name", "nickname", "preferred_username", "locale"];
/** Claims beside issuer, subject and audience that tell in `act` which workload it was. */
const ACTOR_CLAIMS = ["email", "job_workflow_ref", "repository", "ref"];

/** @param audience the one of the token's audiences by which it was accepted; clients decode `act.aud` into a plain string */
function actorOf(claims: Claims, issuer: string, audience: string): Profile["actor"] {
  return { iss: issuer, sub: textClaim(claims, "sub") ?? "", aud: audience, ...textsAmong(claims, ACTOR_CLAIMS) };
}

/** Only for a person's login with an issuer that the operator trusts: what it says of email and name is believed from then on. */
export function profileOfPerson(claims: Claims, issuer: string, audience: string): Profile {
  return {
    actor: actorOf(claims, issuer, audience),
    email: textClaim(claims, "email"),
    // Some issuers write it as text.
    emailVerified: [true, "true"].includes(claimOf(claims, "email_verified") as boolean | string),
    upstream: textsAmong(claims, PROFILE_CLAIMS),
  };
}

/**
 * For a person's login with an issuer that an organization chose: it may be the organization's own. Its word on names is shown, and its
 * word on the email counts in that organization alone, so no token repeats it.
 */
export function profileOfMember(claims: Claims, issuer: string, audience: string): Profile {
  const { email: _email, ...upstream } = textsAmong(claims, PROFILE_CLAIMS);
  return { actor: actorOf(claims, issuer, audience), email: undefined, emailVerified: false, upstream };
}

/** Whoever makes an identity chooses whose word on workloads counts for it, and that word could be anything: it is shown in `act` and goes no further. */
export function profileOfWorkload(claims: Claims, issuer: string, audience: string): Profile {
  return profileOfActor(actorOf(claims, issuer, audience));
}

export function profileOfActor(actor: Profile["actor"]): Profile {
  return { actor, email: undefined, emailVerified: false, upstream: {} };
}

/** A platform token exchanged again still shows who logged in at first. */
export function profileOfPrincipal({ actor, email, emailVerified, upstream }: Principal): Profile {
  return { actor, email, emailVerified, upstream };
}

/** What other identities can ask for in a token of ours. */
export type PrincipalClaims = Pick<Principal, "issuer" | "uid" | "audience" | "email" | "emailVerified">;

/** A platform token as claims, for identities that accept other identities. It has an email only where a person's login is at its root. */
export function claimsOfPrincipal({ issuer, uid, audience, email, emailVerified }: PrincipalClaims): Claims {
  return { iss: issuer, sub: uid, aud: audience, ...(email !== undefined && { email, email_verified: emailVerified }) };
}

function textsAmong(claims: Claims, names: readonly string[]): Record<string, string> {
  const found = names.map((name) => [name, textClaim(claims, name)] as const);
  return Object.fromEntries(found.filter((entry): entry is [string, string] => entry[1] !== undefined && entry[1] !== ""));
}
