/** Compares the claims of a tried token with identities, within a budget. */
import type { Identity, ServicePrincipal } from "@holt/api/gen/platform/iam/v2/identities_pb.ts";
import type { AudienceList } from "./audience.ts";
import { type ClaimComparison, compareAudience, compareClaims, compareStaticKeys } from "./claim-match.ts";
import { normalizeIssuer } from "./jwt.ts";
import { createMatching, createWork } from "./pattern.ts";
import type { TrialBudget } from "./trial-budget.ts";
import type { TriedToken } from "./tried-token.ts";
import type { ServicePrincipals } from "./workload-login.ts";

export interface ComparisonParts {
  /** The audiences by which identities accept tokens of other issuers. */
  readonly audiences: AudienceList;
  /** Audiences of Holt's own tokens. */
  readonly issuable: AudienceList;
  readonly servicePrincipals: ServicePrincipals;
}

export function compareIdentity(
  { relationship }: Identity,
  tried: TriedToken,
  budget: TrialBudget,
  { audiences, issuable, servicePrincipals }: ComparisonParts,
): ClaimComparison {
  const { issuer, subject, claims, isOurs } = tried;
  switch (relationship.case) {
    case "claimMatch": {
      const work = createWork();
      const before = work.left;
      const comparison = compareClaims(relationship.value, { issuer, claims }, isOurs ? issuable : audiences, createMatching(work));
      budget.work -= before - work.left;
      return comparison;
    }
    case "staticKeys":
      return isOurs ? { mismatch: "iss" } : compareStaticKeys(relationship.value, { issuer, claims }, audiences);
    case "servicePrincipal": {
      const subjects = servicePrincipalSubjects(relationship.value, issuer, servicePrincipals);
      if (subjects.length === 0) return { mismatch: "iss" };
      if (!subjects.includes(subject ?? "")) return { mismatch: "sub" };
      return isOurs ? { audience: "" } : compareAudience(claims, audiences);
    }
    default:
      return { mismatch: "iss" };
  }
}

/** Service principals that tokens of the issuer may act as. */
export function servicePrincipalsOf(issuer: string, configured: ServicePrincipals): ReadonlySet<ServicePrincipal> {
  return new Set([...configured.keys()].filter((principal) => servicePrincipalSubjects(principal, issuer, configured).length > 0));
}

function servicePrincipalSubjects(principal: ServicePrincipal, issuer: string, configured: ServicePrincipals): string[] {
  const subjects = configured.get(principal) ?? [];
  return subjects.filter((each) => normalizeIssuer(each.issuer) === issuer).map(({ subject }) => subject);
}
