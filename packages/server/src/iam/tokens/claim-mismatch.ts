/**
 * Explains which value an identity expects of a claim and which value the token has. Only for callers who may read the
 * identity. Pure.
 */
import type { Identity, Identity_ClaimMatch, Identity_StaticKeys } from "@holt/api/gen/platform/iam/v2/identities_pb.ts";
import { type Claims, claimOf } from "./jwt.ts";

const MAX_QUOTED_LENGTH = 200;

/** @param server audience of tokens for this server */
export function explainMismatch(identity: Identity, claim: string, claims: Claims, server: string): string {
  return `the identity expects ${describeExpected(identity, claim, server)}; the token has ${quoteValue(claimOf(claims, claim))}`;
}

function describeExpected({ relationship }: Identity, claim: string, server: string): string {
  switch (relationship.case) {
    case "claimMatch":
      return describeClaimMatch(relationship.value, claim, server);
    case "staticKeys":
      return describeStaticKeys(relationship.value, claim, server);
    default:
      // Only the operator may see which subjects are configured.
      return claim === "aud" ? quoteValue(server) : `the ${claim === "iss" ? "issuer" : "subject"} that the operator configured`;
  }
}

function describeClaimMatch({ iss, sub, aud, claims, claimPatterns }: Identity_ClaimMatch, claim: string, server: string): string {
  if (claim === "iss") return iss.case === "issuerPattern" ? describePattern(iss.value) : quoteValue(iss.value);
  if (claim === "sub") return sub.case === "subjectPattern" ? describePattern(sub.value) : quoteValue(sub.value);
  if (claim === "aud" && aud.case === "audience") return quoteValue(aud.value);
  if (claim === "aud" && aud.case === "audiencePattern") return describePattern(aud.value);
  const wanted = [
    ...(claim === "aud" ? [quoteValue(server)] : []),
    ...(Object.hasOwn(claims, claim) ? [quoteValue(claims[claim])] : []),
    ...(Object.hasOwn(claimPatterns, claim) ? [describePattern(claimPatterns[claim] ?? "")] : []),
  ];
  return wanted.join(" and ");
}

function describeStaticKeys({ issuer, subject, audiences }: Identity_StaticKeys, claim: string, server: string): string {
  return quoteValue(claim === "iss" ? issuer : claim === "sub" ? subject : (audiences[0] ?? server));
}

function describePattern(text: string): string {
  return `a value that matches the pattern ${quoteValue(text)} as a whole`;
}

function quoteValue(value: unknown): string {
  const text = value === undefined ? "nothing" : JSON.stringify(value);
  return text.length > MAX_QUOTED_LENGTH ? `${text.slice(0, MAX_QUOTED_LENGTH)}…` : text;
}
