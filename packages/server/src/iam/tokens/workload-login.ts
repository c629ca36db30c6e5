/** Whether a token may assume the identity it asks for, by the identity's relationship. AWS proofs are aws-proof.ts; people without a named identity, user-login.ts. */
import type { Identity, Identity_ClaimMatch, Identity_StaticKeys, ServicePrincipal } from "@holt/api/gen/platform/iam/v2/identities_pb.ts";
import { dateFromTimestamp } from "../../lib/clock.ts";
import { isInRoot } from "../../lib/uid.ts";
import { type AudienceList, createAudienceList } from "./audience.ts";
import { assertAudience, assertClaimsMatch, assertIssuerMatches, assertStaticKeysMatch, refusal } from "./claim-match.ts";
import { parseJwkSetText } from "./jwk-set.ts";
import type { JwksCache } from "./jwks.ts";
import { normalizeIssuer, type ParsedJwt, textClaim } from "./jwt.ts";
import type { Login } from "./login.ts";
import { NOT_NARROWED } from "./narrowing.ts";
import { claimsOfPrincipal, type PrincipalClaims, profileOfWorkload } from "./subject.ts";
import { verifyWithIssuer } from "./third-party-tokens.ts";
import { verifyThirdPartyToken } from "./verify-token.ts";

/** Who an operator says may act as a service principal. */
export interface OidcSubject {
  readonly issuer: string;
  readonly subject: string;
}

/** By whom each service principal is represented. */
export type ServicePrincipals = ReadonlyMap<ServicePrincipal, readonly OidcSubject[]>;

export interface WorkloadLogins {
  /** @throws PERMISSION_DENIED, in the same words where the identity does not exist; UNAUTHENTICATED for a token that is not good */
  login(token: ParsedJwt, identity: Identity | undefined, now: Date): Promise<Login>;
  /** Whether an identity takes a verified token of ours that stands for another one. @throws PERMISSION_DENIED */
  assertAccepts(identity: Identity | undefined, principal: PrincipalClaims): void;
}

export interface WorkloadLoginsOptions {
  readonly jwks: JwksCache;
  /** Of this server. As a URL or as its bare host it is the audience of workloads' tokens where their identity does not say another. */
  readonly issuer: string;
  /** Of Holt's own tokens. */
  readonly issuable: AudienceList;
  readonly servicePrincipals: ServicePrincipals;
}

/** The audience by which a token was accepted, and until when what was proved may be built upon. */
interface Acceptance {
  readonly audience: string;
  readonly notAfter?: Date | undefined;
}

export function createWorkloadLogins({ jwks, issuer, issuable, servicePrincipals }: WorkloadLoginsOptions): WorkloadLogins {
  const audiences = createAudienceList([issuer]);

  function accept(token: ParsedJwt, { relationship }: Identity, now: Date): Promise<Acceptance> {
    switch (relationship.case) {
      case "claimMatch":
        return byClaims(token, relationship.value, now);
      case "staticKeys":
        return byStaticKeys(token, relationship.value, now);
      case "servicePrincipal":
        return byServicePrincipal(token, relationship.value, now);
      default:
        throw refusal("iss");
    }
  }

  /** Keys are fetched only from issuers that the identity accepts: the token alone must not make the server talk to anybody. */
  async function byClaims(token: ParsedJwt, match: Identity_ClaimMatch, now: Date): Promise<Acceptance> {
    assertIssuerMatches(match, token.issuer);
    return { audience: assertClaimsMatch(match, token.issuer, await verifyWithIssuer(jwks, token, now), audiences) };
  }

  async function byStaticKeys(token: ParsedJwt, stored: Identity_StaticKeys, now: Date): Promise<Acceptance> {
    if (normalizeIssuer(stored.issuer) !== token.issuer) throw refusal("iss");
    const claims = await verifyThirdPartyToken(token, { keys: parseJwkSetText(stored.issuerKeys), issuer: token.issuer, now });
    const audience = assertStaticKeysMatch(stored, token.issuer, claims, audiences, now);
    return { audience, notAfter: stored.expirationTime && dateFromTimestamp(stored.expirationTime) };
  }

  async function byServicePrincipal(token: ParsedJwt, principal: ServicePrincipal, now: Date): Promise<Acceptance> {
    const subjects = serviceSubjects(principal, token.issuer);
    const claims = await verifyWithIssuer(jwks, token, now);
    if (!subjects.has(textClaim(claims, "sub") ?? "")) throw refusal("sub");
    return { audience: assertAudience(claims, audiences) };
  }

  /** In the same words where the operator named nobody. @throws PERMISSION_DENIED */
  function serviceSubjects(principal: ServicePrincipal, tokenIssuer: string): ReadonlySet<string> {
    const known = (servicePrincipals.get(principal) ?? []).filter((each) => normalizeIssuer(each.issuer) === tokenIssuer);
    if (known.length === 0) throw refusal("iss");
    return new Set(known.map((each) => each.subject));
  }

  return {
    async login(token, identity, now) {
      const workload = assertIsWorkload(identity);
      const { audience, notAfter } = await accept(token, workload, now);
      return {
        identityUid: workload.uid,
        profile: profileOfWorkload(token.claims, token.issuer, audience),
        kind: "assumed",
        inherited: NOT_NARROWED,
        notAfter,
        audiences: undefined,
      };
    },
    assertAccepts(identity, principal) {
      const { relationship } = assertIsWorkload(identity);
      if (relationship.case === "servicePrincipal") {
        if (!serviceSubjects(relationship.value, issuer).has(principal.uid)) throw refusal("sub");
        return;
      }
      if (relationship.case !== "claimMatch") throw refusal("iss");
      assertClaimsMatch(relationship.value, issuer, claimsOfPrincipal(principal), issuable);
    },
  };
}

/**
 * Identities in root are people's, whose uid says which account is theirs, and the bootstrap owner's, whose uid says that none is. What stands
 * in them as their claim match is never asked, so nothing that it may come to match (such as an address this server once had) lets anybody in.
 */
function assertIsWorkload(identity: Identity | undefined): Identity {
  if (identity === undefined || isInRoot(identity.uid)) throw refusal("iss");
  return identity;
}
