/** Logs in an identity with an AWS proof of its role. */
import type { ReadDb } from "../../db/store.ts";
import { unauthenticated } from "../../lib/errors.ts";
import { findIdentity } from "../identities/identity-record.ts";
import { assertAwsCallerMatches } from "./aws-match.ts";
import { AWS_STS_URL, type AwsProofs } from "./aws-proof.ts";
import { claimMismatch } from "./claim-match.ts";
import type { Login } from "./login.ts";
import { NOT_NARROWED } from "./narrowing.ts";
import { profileFromActor } from "./subject.ts";

export interface AwsLoginParts {
  readonly awsProofs: AwsProofs;
  /** Issuer of this server. */
  readonly issuer: string;
}

/** @throws UNAUTHENTICATED, PERMISSION_DENIED */
export async function loginWithAwsProof(
  { proof, identityUid }: { readonly proof: string; readonly identityUid: string },
  now: Date,
  db: ReadDb,
  { awsProofs, issuer }: AwsLoginParts,
): Promise<Login> {
  if (identityUid === "") throw unauthenticated("the token is not a JWT; an AWS proof also needs the uid of its identity");
  const request = awsProofs.check(proof, identityUid, now);
  const { relationship } = (await findIdentity(db, identityUid)) ?? {};
  if (relationship?.case !== "awsIdentity") throw claimMismatch("iss");
  const { account, arn, userId } = await awsProofs.fetchCaller(request);
  assertAwsCallerMatches(relationship.value, { account, arn, userId });
  const actor = { iss: AWS_STS_URL, sub: arn, aud: issuer, arn, account, user_id: userId };
  const profile = profileFromActor(actor);
  return { identityUid, profile, kind: "assumed", inherited: NOT_NARROWED, notAfter: undefined, audiences: undefined };
}
