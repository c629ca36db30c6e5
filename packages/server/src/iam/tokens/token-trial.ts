/**
 * Tries a token, or claims that a token could have, on identities: reports which identities would accept it, and which
 * claims do not match. It uses the comparisons of token exchange, but issues, stores and logs nothing. AWS proofs are
 * not supported.
 */
import type { Identity, Identity_StaticKeys, ServicePrincipal } from "@holt/api/gen/platform/iam/v2/identities_pb.ts";
import { isCleanText } from "../../lib/clean-text.ts";
import { Code, HoltError } from "../../lib/errors.ts";
import type { Grants } from "../grants/grants.ts";
import type { AccessTokens } from "./access-token.ts";
import { type AudienceList, createAudienceList } from "./audience.ts";
import { areKeysExpired, type ClaimComparison, compareAudience, compareClaims, compareStaticKeys } from "./claim-match.ts";
import { explainMismatch } from "./claim-mismatch.ts";
import { parseStoredJwkSet } from "./jwk-set.ts";
import type { JwksCache } from "./jwks.ts";
import { audiencesOf, type Claims, claimOf, invalidToken, normalizeIssuer, type ParsedJwt, parseJwt, stringClaim } from "./jwt.ts";
import { createMatching, createWork } from "./pattern.ts";
import { claimsFromPrincipal } from "./subject.ts";
import { verifyWithIssuer } from "./third-party-tokens.ts";
import { verifyThirdPartyToken } from "./verify-token.ts";
import type { OidcSubject } from "./workload-login.ts";

/** What to try: a token, or the claims of a token that does not exist yet. */
export type TrialInput = { readonly token: string } | { readonly claims: Claims };

/** Result for one identity. */
export interface Verdict {
  readonly identity: Identity;
  readonly isMatch: boolean;
  /** The claim that does not match; empty if all match. */
  readonly claim: string;
  /** Empty for a match. */
  readonly explanation: string;
}

export interface Trial {
  readonly issuer: string;
  readonly subject: string | undefined;
  /** Service principals that tokens of the issuer may act as. */
  readonly principals: ReadonlySet<ServicePrincipal>;
  /**
   * Compares the claims only.
   * @returns a verdict with the claim `iss` if the identity accepts no tokens of this issuer; undefined once the budget
   * for all comparisons is spent
   */
  compare(identity: Identity): Verdict | undefined;
  /** For an identity whose claims match: also verifies the proof. */
  verifyProof(verdict: Verdict): Promise<Verdict>;
  /**
   * What is wrong with the token regardless of the identity; call it last. Fetches the issuer's keys only if some
   * identity accepts its tokens.
   */
  tokenError(): Promise<string>;
  /** Whether some identity was skipped because the budget was spent. */
  isExhausted(): boolean;
}

export interface TokenTrials {
  /** @throws UNAUTHENTICATED if the token is malformed, or no token can have the claims */
  begin(tried: TrialInput, now: Date): Trial;
}

export interface TokenTrialsOptions {
  readonly accessTokens: AccessTokens;
  readonly grants: Grants;
  readonly jwks: JwksCache;
  /** Issuer of this server. */
  readonly issuer: string;
  /** Audiences of Holt's own tokens. */
  readonly issuable: AudienceList;
  readonly servicePrincipals: ReadonlyMap<ServicePrincipal, readonly OidcSubject[]>;
}

/** Budget for all patterns together, about that of 25 token exchanges. */
const MAX_WORK = 50_000_000;
/** Identities whose stored keys are tried; each may have a large key set. */
const MAX_KEY_SETS = 50;

export function createTokenTrials({
  accessTokens,
  grants,
  jwks,
  issuer: server,
  issuable,
  servicePrincipals,
}: TokenTrialsOptions): TokenTrials {
  const audiences = createAudienceList([server]);

  /** A Holt token: verified with our keys. Its claims are those that other identities can match. */
  async function verifyOwnToken(token: ParsedJwt): Promise<void> {
    const principal = await accessTokens.verify(token.compact, issuable);
    if (!(await grants.loadSession(principal)).exists) throw invalidToken("its identity no longer exists");
  }

  function servicePrincipalSubjects(principal: ServicePrincipal, issuer: string): string[] {
    const subjects = servicePrincipals.get(principal) ?? [];
    return subjects.filter((each) => normalizeIssuer(each.issuer) === issuer).map(({ subject }) => subject);
  }

  return {
    begin(tried, now) {
      const token = "token" in tried ? parseJwt(tried.token) : undefined;
      const input = token === undefined ? checkClaims((tried as { claims: Claims }).claims) : token;
      const { issuer } = input;
      const isOurs = issuer === server;
      const claims = isOurs ? comparedClaims(input.claims, server) : input.claims;
      const subject = stringClaim(claims, "sub");
      let workLeft = MAX_WORK;
      let keySetsLeft = MAX_KEY_SETS;
      let isExhausted = false;
      let isIssuerAccepted = false;

      function compareIdentity({ relationship }: Identity): ClaimComparison {
        switch (relationship.case) {
          case "claimMatch": {
            const work = createWork();
            const before = work.left;
            const comparison = compareClaims(relationship.value, { issuer, claims }, isOurs ? issuable : audiences, createMatching(work));
            workLeft -= before - work.left;
            return comparison;
          }
          case "staticKeys":
            return isOurs ? { mismatch: "iss" } : compareStaticKeys(relationship.value, { issuer, claims }, audiences);
          case "servicePrincipal": {
            const subjects = servicePrincipalSubjects(relationship.value, issuer);
            if (subjects.length === 0) return { mismatch: "iss" };
            if (!subjects.includes(subject ?? "")) return { mismatch: "sub" };
            return isOurs ? { audience: "" } : compareAudience(claims, audiences);
          }
          default:
            return { mismatch: "iss" };
        }
      }

      let verification: Promise<string> | undefined;
      /** Verifies the token once for all identities that trust its issuer. */
      function issuerProblem(): Promise<string> {
        if (token === undefined) return Promise.resolve("");
        verification ??= problemMessage(isOurs ? verifyOwnToken(token) : verifyWithIssuer(jwks, token, now));
        return verification;
      }

      async function keysProblem(keys: Identity_StaticKeys): Promise<string> {
        if (areKeysExpired(keys, now)) return "the keys of the identity have expired";
        if (token === undefined) return "";
        if (keySetsLeft-- <= 0) {
          isExhausted = true;
          return "too many identities to try; name one in a token exchange";
        }
        return problemMessage(verifyThirdPartyToken(token, { keys: parseStoredJwkSet(keys.issuerKeys), issuer, now }));
      }

      return {
        issuer,
        subject,
        principals: new Set([...servicePrincipals.keys()].filter((principal) => servicePrincipalSubjects(principal, issuer).length > 0)),
        compare(identity) {
          if (workLeft <= 0) isExhausted = true;
          if (isExhausted) return undefined;
          const { mismatch } = compareIdentity(identity);
          if (mismatch !== "iss" && identity.relationship.case !== "staticKeys") isIssuerAccepted = true;
          if (mismatch === undefined) return { identity, isMatch: true, claim: "", explanation: "" };
          return { identity, isMatch: false, claim: mismatch, explanation: explainMismatch(identity, mismatch, claims, server) };
        },
        async verifyProof(verdict) {
          const { relationship } = verdict.identity;
          const problem = await (relationship.case === "staticKeys" ? keysProblem(relationship.value) : issuerProblem());
          return problem === "" ? verdict : { ...verdict, isMatch: false, explanation: `the claims match, but ${problem}` };
        },
        tokenError: async () => (isIssuerAccepted ? issuerProblem() : ""),
        isExhausted: () => isExhausted,
      };
    },
  };
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

/** The error message that token exchange would give; empty if the token is valid. */
async function problemMessage(verification: Promise<unknown>): Promise<string> {
  try {
    await verification;
    return "";
  } catch (error) {
    if (error instanceof HoltError && (error.code === Code.UNAUTHENTICATED || error.code === Code.UNAVAILABLE))
      return error.message.replace(/^[A-Za-z ]+: /, "");
    throw error;
  }
}
