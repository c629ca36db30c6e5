/** Says in words what an identity wants of a claim and what a token has there. For who may read the identity, and nobody else. Pure. */
import type { Identity, Identity_ClaimMatch, Identity_StaticKeys } from "@holt/api/gen/platform/iam/v2/identities_pb.ts";
import { type Claims, claimOf } from "./jwt.ts";

const MAX_SHOWN = 200;

/** @param server the audience of tokens for this server */
export function explainMisfit(identity: Identity, claim: string, claims: Claims, server: string): string {
  return `the identity wants ${wantedOf(identity, claim, server)}; the token has ${shown(claimOf(claims, claim))}`;
}

function wantedOf({ relationship }: Identity, claim: string, server: string): string {
  switch (relationship.case) {
    case "claimMatch":
      return wantedByMatch(relationship.value, claim, server);
    case "staticKeys":
      return wantedByKeys(relationship.value, claim, server);
    default:
      // Whom the operator names is the operator's to tell.
      return claim === "aud" ? shown(server) : "what the operator has configured";
  }
}

function wantedByMatch({ iss, sub, aud, claims, claimPatterns }: Identity_ClaimMatch, claim: string, server: string): string {
  if (claim === "iss") return iss.case === "issuerPattern" ? pattern(iss.value) : shown(iss.value);
  if (claim === "sub") return sub.case === "subjectPattern" ? pattern(sub.value) : shown(sub.value);
  if (claim === "aud" && aud.case === "audience") return shown(aud.value);
  if (claim === "aud" && aud.case === "audiencePattern") return pattern(aud.value);
  const wanted = [
    ...(claim === "aud" ? [shown(server)] : []),
    ...(Object.hasOwn(claims, claim) ? [shown(claims[claim])] : []),
    ...(Object.hasOwn(claimPatterns, claim) ? [pattern(claimPatterns[claim] ?? "")] : []),
  ];
  return wanted.join(" and ");
}

function wantedByKeys({ issuer, subject, audiences }: Identity_StaticKeys, claim: string, server: string): string {
  return shown(claim === "iss" ? issuer : claim === "sub" ? subject : (audiences[0] ?? server));
}

function pattern(text: string): string {
  return `what the pattern ${shown(text)} matches as a whole`;
}

function shown(value: unknown): string {
  const text = value === undefined ? "nothing" : JSON.stringify(value);
  return text.length > MAX_SHOWN ? `${text.slice(0, MAX_SHOWN)}…` : text;
}
