/**
 * Turns a verified token into a person's account: who the person is, who vouches for the email, and where the login is
 * valid. Pure.
 */

import { IdentityProvider_OIDC_CorrelationRule as CorrelationRule } from "@holt/api/gen/platform/iam/v2/identity_providers_pb.ts";
import type { AuthContext } from "../../access/principal.ts";
import { isCleanText } from "../../lib/clean-text.ts";
import { type Claims, claimOf, stringClaim } from "../tokens/jwt.ts";
import { methodsFromClaims } from "../tokens/sign-in-claims.ts";
import { memberProfile, type Profile, personProfile } from "../tokens/subject.ts";
import type { IdentityProviderRecord } from "./identity-provider-record.ts";
import { userIdentityUid } from "./user-identity.ts";

export interface PersonAccount {
  readonly identityUid: string;
  readonly issuer: string;
  readonly subject: string;
  /** Profile that Holt's tokens repeat. */
  readonly profile: Profile;
  /** Verified by an issuer whose claim is accepted; undefined otherwise. */
  readonly email: string | undefined;
  /**
   * Uid of the only organization where the claim about the email is accepted; undefined if it is accepted everywhere.
   */
  readonly emailWithin: string | undefined;
  /** Uid of the only organization where the login is valid; undefined if it is valid everywhere. */
  readonly within: string | undefined;
  /**
   * Whether the login shows that the person wants to join the provider's organization or that of an invite. False where
   * others rely on the issuer, too: they may hold tokens of the person.
   */
  readonly mayJoin: boolean;
  readonly member: Membership | undefined;
  /** Methods of the person's sign-in. */
  readonly auth: AuthContext;
  /** For an account of this server: its `update_time`. A later change, such as a recovery, voids the sign-in. */
  readonly accountVersion?: string;
}

/** A person's membership at an organization's identity provider. */
export interface Membership {
  readonly provider: IdentityProviderRecord;
  /** Key of the person in the organization's directory; empty if the token has none. */
  readonly externalId: string;
  /** Names of the groups, as in the provider's token. */
  readonly groups: readonly string[];
}

/** Properties of the account that are not read from `claims`. */
export interface AccountContext {
  readonly issuer: string;
  readonly subject: string;
  /** The audience by which the token was accepted. */
  readonly audience: string;
}

/** More than any person has. Further groups are ignored. */
const MAX_GROUPS_PER_PERSON = 1000;

/** Account at an issuer that the operator trusts. */
export function operatorAccount(claims: Claims, { issuer, subject, audience }: AccountContext): PersonAccount {
  const profile = personProfile(claims, issuer, audience);
  return {
    identityUid: userIdentityUid(issuer, subject),
    issuer,
    subject,
    profile,
    email: profile.emailVerified ? profile.email : undefined,
    emailWithin: undefined,
    within: undefined,
    mayJoin: true,
    member: undefined,
    auth: { methods: methodsFromClaims(claims), isLocal: false },
  };
}

/**
 * Account at an organization's identity provider. Its claim about the email counts in that organization only.
 * @param use how the token came. The login is valid in that organization only if the caller presented the token, or if
 * others rely on the issuer, too. Any organization can register a shared issuer with a client of its own. It obtains the
 * tokens of everyone who signs in to that client, and may even control their claims
 */
export function memberAccount(
  claims: Claims,
  context: AccountContext,
  provider: IdentityProviderRecord,
  { isPresented, isShared }: { readonly isPresented: boolean; readonly isShared: boolean },
): PersonAccount {
  return {
    ...operatorAccount(claims, context),
    profile: memberProfile(claims, context.issuer, context.audience),
    email: memberEmail(claims),
    emailWithin: provider.organizationUid,
    within: isPresented || isShared ? provider.organizationUid : undefined,
    mayJoin: !isShared,
    member: {
      provider,
      externalId: stringClaim(claims, provider.correlationRule === CorrelationRule.OID_EQUALS_EXTERNAL_ID ? "oid" : "sub") ?? "",
      groups: readGroups(claims, provider.groupsClaim),
    },
  };
}

/** The provider of an organization need not confirm each email address, but must not deny that it is verified. */
function memberEmail(claims: Claims): string | undefined {
  // Some issuers send the string "false".
  const isDenied = [false, "false"].includes(claimOf(claims, "email_verified") as boolean | string);
  return isDenied ? undefined : stringClaim(claims, "email");
}

/** The claim is a list of names or one name. */
function readGroups(claims: Claims, name: string): string[] {
  if (name === "") return [];
  const value = claimOf(claims, name);
  return (Array.isArray(value) ? value : [value])
    .filter((group): group is string => typeof group === "string" && group !== "" && isCleanText(group))
    .slice(0, MAX_GROUPS_PER_PERSON);
}
