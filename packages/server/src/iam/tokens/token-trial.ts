/**
 * Tries a token, or the claims of one that there is not yet, on identities: whom it would sign in as, and where it fails. It decides by what
 * token exchange decides by, and lets nobody in: nothing is issued, stored or logged. AWS proofs are not tried.
 */
import type { Identity, Identity_StaticKeys, ServicePrincipal } from "@holt/api/gen/platform/iam/v2/identities_pb.ts";
import { Code, HoltError } from "../../lib/errors.ts";
import type { Grants } from "../grants/grants.ts";
import type { AccessTokens } from "./access-token.ts";
import { type AudienceList, createAudienceList } from "./audience.ts";
import { type Fit, fitOfAudience, fitOfClaims, fitOfStaticKeys, haveExpired } from "./claim-match.ts";
import { explainMisfit } from "./claim-misfit.ts";
import { parseJwkSetText } from "./jwk-set.ts";
import type { JwksCache } from "./jwks.ts";
import { audiencesOf, type Claims, claimOf, isCleanText, malformed, normalizeIssuer, type ParsedJwt, parseJwt, textClaim } from "./jwt.ts";
import { createMatching, createWork } from "./pattern.ts";
import { claimsOfPrincipal } from "./subject.ts";
import { verifyWithIssuer } from "./third-party-tokens.ts";
import { verifyThirdPartyToken } from "./verify-token.ts";
import type { OidcSubject } from "./workload-login.ts";

/** What is tried: exactly one of them. */
export type Tried = { readonly token: string } | { readonly claims: Claims };

/** How an identity takes to it. */
export interface Verdict {
  readonly identity: Identity;
  readonly isMatch: boolean;
  /** The claim that does not agree; empty where all do. */
  readonly claim: string;
  /** Empty in a match. */
  readonly explanation: string;
}

export interface Trial {
  readonly issuer: string;
  readonly subject: string | undefined;
  /** Service principals that the operator lets issuer's tokens act as. */
  readonly principals: ReadonlySet<ServicePrincipal>;
  /**
   * Compares the claims, and nothing else yet.
   * @returns undefined for an identity that takes no tokens of this issuer, or once all comparisons together have cost what they may
   */
  compare(identity: Identity): Verdict | undefined;
  /** Of one whose claims agree: whether the proof is good for it, too. */
  prove(verdict: Verdict): Promise<Verdict>;
  /** What is wrong with the token for everybody; to be asked at the end. The issuer's keys are asked for only where an identity takes its tokens. */
  tokenError(): Promise<string>;
  /** Whether some identity was not compared or proved, since that would have cost too much. */
  isExhausted(): boolean;
}

export interface TokenTrials {
  /** @throws UNAUTHENTICATED where there is no token to try at all, or claims that no token can have */
  begin(tried: Tried, now: Date): Trial;
}

export interface TokenTrialsOptions {
  readonly accessTokens: AccessTokens;
  readonly grants: Grants;
  readonly jwks: JwksCache;
  /** Of this server. */
  readonly issuer: string;
  /** Of Holt's own tokens. */
  readonly issuable: AudienceList;
  readonly servicePrincipals: ReadonlyMap<ServicePrincipal, readonly OidcSubject[]>;
}

/** Of patterns, in all: as much as some tens of exchanges may cost. */
const MAX_WORK = 50_000_000;
/** Identities whose stored keys are tried: each may have a set of many. */
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

  /** A token of ours tells of its identity, and its claims are those that other identities can ask for. */
  async function verifyOurs(token: ParsedJwt): Promise<void> {
    const principal = await accessTokens.verify(token.text, issuable);
    if (!(await grants.loadSession(principal)).exists) throw malformed("its identity no longer exists");
  }

  function subjectsOf(principal: ServicePrincipal, issuer: string): string[] {
    const subjects = servicePrincipals.get(principal) ?? [];
    return subjects.filter((each) => normalizeIssuer(each.issuer) === issuer).map(({ subject }) => subject);
  }

  return {
    begin(tried, now) {
      const token = "token" in tried ? parseJwt(tried.token) : undefined;
      const said = token === undefined ? parsedClaims((tried as { claims: Claims }).claims) : token;
      const { issuer } = said;
      const isOurs = issuer === server;
      const claims = isOurs ? ourClaims(said.claims, server) : said.claims;
      const subject = textClaim(claims, "sub");
      let workLeft = MAX_WORK;
      let keySetsLeft = MAX_KEY_SETS;
      let isExhausted = false;
      let isIssuerTaken = false;

      function fitOf({ relationship }: Identity): Fit {
        switch (relationship.case) {
          case "claimMatch": {
            const work = createWork();
            const before = work.left;
            const fit = fitOfClaims(relationship.value, issuer, claims, isOurs ? issuable : audiences, createMatching(work));
            workLeft -= before - work.left;
            return fit;
          }
          case "staticKeys":
            return isOurs ? { misfit: "iss" } : fitOfStaticKeys(relationship.value, issuer, claims, audiences);
          case "servicePrincipal": {
            const subjects = subjectsOf(relationship.value, issuer);
            if (subjects.length === 0) return { misfit: "iss" };
            if (!subjects.includes(subject ?? "")) return { misfit: "sub" };
            return isOurs ? { audience: "" } : fitOfAudience(claims, audiences);
          }
          default:
            return { misfit: "iss" };
        }
      }

      let verification: Promise<string> | undefined;
      /** Once for all identities that believe the issuer. */
      function problemOfIssuers(): Promise<string> {
        if (token === undefined) return Promise.resolve("");
        verification ??= problemOf(isOurs ? verifyOurs(token) : verifyWithIssuer(jwks, token, now));
        return verification;
      }

      async function problemOfKeys(keys: Identity_StaticKeys): Promise<string> {
        if (haveExpired(keys, now)) return "the keys of the identity have expired";
        if (token === undefined) return "";
        if (keySetsLeft-- <= 0) {
          isExhausted = true;
          return "too many identities would have to be tried; name one in an exchange";
        }
        return problemOf(verifyThirdPartyToken(token, { keys: parseJwkSetText(keys.issuerKeys), issuer, now }));
      }

      return {
        issuer,
        subject,
        principals: new Set([...servicePrincipals.keys()].filter((principal) => subjectsOf(principal, issuer).length > 0)),
        compare(identity) {
          if (workLeft <= 0) isExhausted = true;
          if (isExhausted) return undefined;
          const { misfit } = fitOf(identity);
          if (misfit === "iss") return undefined;
          if (identity.relationship.case !== "staticKeys") isIssuerTaken = true;
          if (misfit === undefined) return { identity, isMatch: true, claim: "", explanation: "" };
          return { identity, isMatch: false, claim: misfit, explanation: explainMisfit(identity, misfit, claims, server) };
        },
        async prove(verdict) {
          const { relationship } = verdict.identity;
          const problem = await (relationship.case === "staticKeys" ? problemOfKeys(relationship.value) : problemOfIssuers());
          return problem === "" ? verdict : { ...verdict, isMatch: false, explanation: `the claims agree, but ${problem}` };
        },
        tokenError: async () => (isIssuerTaken ? problemOfIssuers() : ""),
        isExhausted: () => isExhausted,
      };
    },
  };
}

function parsedClaims(claims: Claims): { readonly issuer: string; readonly claims: Claims } {
  const issuer = textClaim(claims, "iss") ?? "";
  if (issuer === "" || !isCleanText(issuer)) throw malformed("no issuer");
  if (!isCleanText(textClaim(claims, "sub") ?? "")) throw malformed("the subject is not text");
  return { issuer: normalizeIssuer(issuer), claims };
}

/** Of our tokens nothing else is compared, whatever else is in them. */
function ourClaims(claims: Claims, issuer: string): Claims {
  const email = textClaim(claims, "email");
  const uid = textClaim(claims, "sub") ?? "";
  const emailVerified = claimOf(claims, "email_verified") === true;
  return claimsOfPrincipal({ issuer, uid, audience: audiencesOf(claims), email, emailVerified });
}

/** What is wrong, in the words of an exchange; empty where nothing is. */
async function problemOf(verification: Promise<unknown>): Promise<string> {
  try {
    await verification;
    return "";
  } catch (error) {
    if (error instanceof HoltError && (error.code === Code.UNAUTHENTICATED || error.code === Code.UNAVAILABLE))
      return error.message.replace(/^[A-Za-z ]+: /, "");
    throw error;
  }
}
