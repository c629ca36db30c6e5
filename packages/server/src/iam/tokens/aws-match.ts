/** Checks that an identity accepts an AWS caller. How callers prove who they are is in aws-proof.ts. */
import type { Identity_AWSIdentity } from "@holt/api/gen/platform/iam/v2/identities_pb.ts";
import type { AwsCaller } from "./aws-proof.ts";
import { claimMismatch } from "./claim-match.ts";
import { matchesPattern } from "./pattern.ts";

/** @throws PERMISSION_DENIED with a message that contains `invalid "<property>"` */
export function assertAwsCallerMatches({ awsAccount, awsArn, awsUserId }: Identity_AWSIdentity, caller: AwsCaller): void {
  if (awsAccount === "" || awsAccount !== caller.account) throw claimMismatch("account");
  const isArn =
    awsArn.case === "arn" ? awsArn.value === caller.arn : awsArn.case === "arnPattern" && matchesPattern(awsArn.value, caller.arn);
  if (!isArn) throw claimMismatch("arn");
  const isUser =
    awsUserId.case === "userId"
      ? awsUserId.value === caller.userId
      : awsUserId.case === "userIdPattern" && matchesPattern(awsUserId.value, caller.userId);
  if (!isUser) throw claimMismatch("user_id");
}
