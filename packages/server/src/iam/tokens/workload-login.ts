/**
 * Decides whether a token may assume the identity that the request names, by the identity's relationship. AWS proofs
 * are in aws-proof.ts, logins of people in identities/user-login.ts.
 */
import type { Identity, Identity_ClaimMatch, Identity_StaticKeys, ServicePrincipal } from "@holt/api/gen/platform/iam/v2/identities_pb.ts";
import { dateFromTimestamp } from "../../lib/clock.ts";
import { isInRoot } from "../../lib/uid.ts";
import { type AudienceList, createAudienceList } from "./audience.ts";
import { assertAudience, assertClaimsMatch, assertIssuerMatches, assertStaticKeysMatch, claimMismatch } from "./claim-match.ts";
import { parseStoredJwkSet } from "./jwk-set.ts";
import type { JwksCache } from "./jwks.ts";
import { normalizeIssuer, type ParsedJwt, stringClaim } from "./jwt.ts";
import type { Login } from "./login.ts";
import { NOT_NARROWED } from "./narrowing.ts";
import { claimsFromPrincipal, type PrincipalClaims, workloadProfile } from "./subject.ts";
import { verifyWithIssuer } from "./third-party-tokens.ts";
import { verifyThirdPartyToken } from "./verify-token.ts";

/** A subject that the operator lets act as a service principal. */
export interface OidcSubject {
  readonly issuer: string;
  readonly subject: string;
}

/** The subjects that act as each service principal. */
export type ServicePrincipals = ReadonlyMap<ServicePrincipal, readonly OidcSubject[]>;

export interface WorkloadLogins {
  /**
   * @throws PERMISSION_DENIED with the same message if the identity does not exist; UNAUTHENTICATED for an invalid
   * token
   */
  login(token: ParsedJwt, identity: Identity | undefined, now: Date): Promise<Login>;
  /**
   * Checks that an identity accepts a verified Holt token of another identity.
   * @throws PERMISSION_DENIED
   */
  assertAccepts(identity: Identity | undefined, principal: PrincipalClaims): void;
}

export interface WorkloadLoginsOptions {
  readonly jwks: JwksCache;
  /**
   * Issuer of this server. Its URL and its bare host are the audience of workload tokens if the identity names no
   * other.
   */
  readonly issuer: string;
  /** Audiences of Holt's own tokens. */
  readonly issuable: AudienceList;
  readonly servicePrincipals: ServicePrincipals;
}

/** The audience by which a token was accepted, and the time after which tokens made from it must have expired. */
interface Acceptance {
  readonly audience: string;
  readonly notAfter?: Date | undefined;
}

export function createWorkloadLogins(options: WorkloadLoginsOptions): WorkloadLogins {
  const { issuer, issuable, servicePrincipals } = options;
  const accept = createAccept(options);
  return {
    async login(token, identity, now) {
      const workload = assertIsWorkload(identity);
      const { audience, notAfter } = await accept(token, workload, now);
      return {
        identityUid: workload.uid,
        profile: workloadProfile(token.claims, token.issuer, audience),
        kind: "assumed",
        inherited: NOT_NARROWED,
        notAfter,
        audiences: undefined,
      };
    },
    assertAccepts(identity, principal) {
      const { relationship } = assertIsWorkload(identity);
      if (relationship.case === "servicePrincipal") {
        if (!requireSubjects(servicePrincipals, relationship.value, issuer).has(principal.uid)) throw claimMismatch("sub");
        return;
      }
      if (relationship.case !== "claimMatch") throw claimMismatch("iss");
      assertClaimsMatch(relationship.value, { issuer, claims: claimsFromPrincipal(principal) }, issuable);
    },
  };
}

type Accept = (token: ParsedJwt, identity: Identity, now: Date) => Promise<Acceptance>;

/** Verifies a token, and compares it with the relationship of an identity. */
function createAccept({ jwks, issuer, servicePrincipals }: WorkloadLoginsOptions): Accept {
  const audiences = createAudienceList([issuer]);

  /**
   * Fetches keys only from issuers that the identity accepts: a token alone must not make the server contact anyone.
   */
  async function acceptByClaims(token: ParsedJwt, match: Identity_ClaimMatch, now: Date): Promise<Acceptance> {
    assertIssuerMatches(match, token.issuer);
    const claims = await verifyWithIssuer(jwks, token, now);
    return { audience: assertClaimsMatch(match, { issuer: token.issuer, claims }, audiences) };
  }

  async function acceptByServicePrincipal(token: ParsedJwt, principal: ServicePrincipal, now: Date): Promise<Acceptance> {
    const subjects = requireSubjects(servicePrincipals, principal, token.issuer);
    const claims = await verifyWithIssuer(jwks, token, now);
    if (!subjects.has(stringClaim(claims, "sub") ?? "")) throw claimMismatch("sub");
    return { audience: assertAudience(claims, audiences) };
  }

  return async (token, { relationship }, now) => {
    switch (relationship.case) {
      case "claimMatch":
        return acceptByClaims(token, relationship.value, now);
      case "staticKeys":
        return acceptByStaticKeys(token, relationship.value, { audiences, now });
      case "servicePrincipal":
        return acceptByServicePrincipal(token, relationship.value, now);
      default:
        throw claimMismatch("iss");
    }
  };
}

async function acceptByStaticKeys(
  token: ParsedJwt,
  stored: Identity_StaticKeys,
  { audiences, now }: { readonly audiences: AudienceList; readonly now: Date },
): Promise<Acceptance> {
  if (normalizeIssuer(stored.issuer) !== token.issuer) throw claimMismatch("iss");
  const claims = await verifyThirdPartyToken(token, { keys: parseStoredJwkSet(stored.issuerKeys), issuer: token.issuer, now });
  const audience = assertStaticKeysMatch(stored, { issuer: token.issuer, claims }, audiences, now);
  return { audience, notAfter: stored.expirationTime && dateFromTimestamp(stored.expirationTime) };
}

/** @throws PERMISSION_DENIED with the same message if the operator configured no subject */
function requireSubjects(known: ServicePrincipals, principal: ServicePrincipal, issuer: string): ReadonlySet<string> {
  const subjects = (known.get(principal) ?? []).filter((each) => normalizeIssuer(each.issuer) === issuer);
  if (subjects.length === 0) throw claimMismatch("iss");
  return new Set(subjects.map(({ subject }) => subject));
}

/**
 * Identities in root belong to people, or are the bootstrap owner's. Nobody assumes them by claim match: the uid of a
 * person's identity is derived from the account, and the owner's stands for no account. So their stored claim match is
 * never used, not even if it names an address that this server once had.
 */
function assertIsWorkload(identity: Identity | undefined): Identity {
  if (identity === undefined || isInRoot(identity.uid)) throw claimMismatch("iss");
  return identity;
}
