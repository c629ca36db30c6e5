/**
 * Tries a token, or claims that a token could have, on identities: reports which identities would accept it, and which
 * claims do not match. It uses the comparisons of token exchange, but issues, stores and logs nothing. AWS proofs are
 * not supported.
 */
import type { Identity, ServicePrincipal } from "@holt/api/gen/platform/iam/v2/identities_pb.ts";
import { createAudienceList } from "./audience.ts";
import { explainMismatch } from "./claim-mismatch.ts";
import { createTrialBudget } from "./trial-budget.ts";
import { type ComparisonParts, compareIdentity, servicePrincipalsOf } from "./trial-comparison.ts";
import { createTrialProof, type ProofParts } from "./trial-proof.ts";
import { readTriedToken, type TrialInput } from "./tried-token.ts";

/** Result for one identity. */
export interface TrialVerdict {
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
  compare(identity: Identity): TrialVerdict | undefined;
  /** For an identity whose claims match: also verifies the proof. */
  verifyProof(verdict: TrialVerdict): Promise<TrialVerdict>;
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
  begin(input: TrialInput, now: Date): Trial;
}

export interface TokenTrialsOptions extends ProofParts, Omit<ComparisonParts, "audiences"> {
  /** Issuer of this server. */
  readonly issuer: string;
}

export function createTokenTrials(options: TokenTrialsOptions): TokenTrials {
  const parts = { ...options, audiences: createAudienceList([options.issuer]) };
  return { begin: (input, now) => beginTrial(input, now, parts) };
}

function beginTrial(input: TrialInput, now: Date, parts: TokenTrialsOptions & ComparisonParts): Trial {
  const tried = readTriedToken(input, parts.issuer);
  const budget = createTrialBudget();
  const proof = createTrialProof(tried, now, budget, parts);
  let isIssuerAccepted = false;
  return {
    issuer: tried.issuer,
    subject: tried.subject,
    principals: servicePrincipalsOf(tried.issuer, parts.servicePrincipals),
    compare(identity) {
      if (budget.work <= 0) budget.isExhausted = true;
      if (budget.isExhausted) return undefined;
      const { mismatch } = compareIdentity(identity, tried, budget, parts);
      if (mismatch !== "iss" && identity.relationship.case !== "staticKeys") isIssuerAccepted = true;
      if (mismatch === undefined) return { identity, isMatch: true, claim: "", explanation: "" };
      const explanation = explainMismatch(identity, mismatch, tried.claims, parts.issuer);
      return { identity, isMatch: false, claim: mismatch, explanation };
    },
    async verifyProof(verdict) {
      const { relationship } = verdict.identity;
      const problem = await (relationship.case === "staticKeys" ? proof.keysProblem(relationship.value) : proof.issuerProblem());
      return problem === "" ? verdict : { ...verdict, isMatch: false, explanation: `the claims match, but ${problem}` };
    },
    tokenError: async () => (isIssuerAccepted ? proof.issuerProblem() : ""),
    isExhausted: () => budget.isExhausted,
  };
}
