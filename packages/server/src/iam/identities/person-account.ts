/** An account of a person with an issuer, as a verified token tells of it: whose word it is, and where that word counts. Pure. */
import { IdentityProvider_OIDC_CorrelationRule as CorrelationRule } from "@holt/api/gen/platform/iam/v2/identity_providers_pb.ts";
import { type Claims, claimOf, isCleanText, textClaim } from "../tokens/jwt.ts";
import { type Profile, profileOfMember, profileOfPerson } from "../tokens/subject.ts";
import type { IdentityProviderRecord } from "./identity-provider-record.ts";
import { userIdentityUid } from "./user-identity.ts";

export interface PersonAccount {
  readonly identityUid: string;
  readonly issuer: string;
  readonly subject: string;
  /** What tokens say of the person. */
  readonly profile: Profile;
  /** Verified, and by the word of an issuer that is believed; undefined otherwise. */
  readonly email: string | undefined;
  /** Uid of the one organization in which the issuer is believed about the email; undefined where it is believed everywhere. */
  readonly emailWithin: string | undefined;
  /** Uid of the organization in which alone the login is good; undefined for everywhere. */
  readonly within: string | undefined;
  readonly member: Membership | undefined;
}

/** What there is to say of who came through an organization's identity provider. */
export interface Membership {
  readonly provider: IdentityProviderRecord;
  /** By which the organization's directory knows the person; empty where the token does not tell. */
  readonly externalId: string;
  /** As the provider's token names them. */
  readonly groups: readonly string[];
}

/** What is not said in `claims`. */
export interface AccountContext {
  readonly issuer: string;
  readonly subject: string;
  /** The one of the token's audiences by which it was accepted. */
  readonly audience: string;
}

/** More than any person has; what comes after them counts for nothing. */
const MAX_GROUPS = 1000;

/** Of an issuer that the operator trusts. */
export function accountAtOperator(claims: Claims, { issuer, subject, audience }: AccountContext): PersonAccount {
  const profile = profileOfPerson(claims, issuer, audience);
  return {
    identityUid: userIdentityUid(issuer, subject),
    issuer,
    subject,
    profile,
    email: profile.emailVerified ? profile.email : undefined,
    emailWithin: undefined,
    within: undefined,
    member: undefined,
  };
}

/**
 * Of an organization's identity provider. What it says of the email counts in the organization alone.
 * @param isConfined whether the login is good in the organization alone, too: for a token that was shown to Holt, and not fetched by it, and for an
 * issuer that others rely on as well. Any organization can register an issuer that others use, with a client of its own, and has the tokens of all who
 * sign in to that client; perhaps it even has a say in them
 */
export function accountAtProvider(
  claims: Claims,
  context: AccountContext,
  provider: IdentityProviderRecord,
  isConfined: boolean,
): PersonAccount {
  return {
    ...accountAtOperator(claims, context),
    profile: profileOfMember(claims, context.issuer, context.audience),
    // An organization's own provider need not say of each of its addresses that it is verified, but it must not deny it.
    email: claimOf(claims, "email_verified") === false ? undefined : textClaim(claims, "email"),
    emailWithin: provider.organizationUid,
    within: isConfined ? provider.organizationUid : undefined,
    member: {
      provider,
      externalId: textClaim(claims, provider.correlationRule === CorrelationRule.OID_EQUALS_EXTERNAL_ID ? "oid" : "sub") ?? "",
      groups: groupsOf(claims, provider.groupsClaim),
    },
  };
}

/** A list of names, or one name. */
function groupsOf(claims: Claims, name: string): string[] {
  if (name === "") return [];
  const value = claimOf(claims, name);
  return (Array.isArray(value) ? value : [value])
    .filter((group): group is string => typeof group === "string" && group !== "" && isCleanText(group))
    .slice(0, MAX_GROUPS);
}
