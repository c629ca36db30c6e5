/** Whether an AWS caller is one that an identity accepts. How the caller proved itself is aws-proof.ts. */
import type { Identity_AWSIdentity } from "@holt/api/gen/platform/iam/v2/identities_pb.ts";
import type { AwsCaller } from "./aws-proof.ts";
import { refusal } from "./claim-match.ts";
import { matchesPattern } from "./pattern.ts";

/** @throws PERMISSION_DENIED whose text has `invalid "<property>"` */
export function assertAwsCallerMatches({ awsAccount, awsArn, awsUserId }: Identity_AWSIdentity, caller: AwsCaller): void {
  if (awsAccount === "" || awsAccount !== caller.account) throw refusal("account");
  const isArn =
    awsArn.case === "arn" ? awsArn.value === caller.arn : awsArn.case === "arnPattern" && matchesPattern(awsArn.value, caller.arn);
  if (!isArn) throw refusal("arn");
  const isUser =
    awsUserId.case === "userId"
      ? awsUserId.value === caller.userId
      : awsUserId.case === "userIdPattern" && matchesPattern(awsUserId.value, caller.userId);
  if (!isUser) throw refusal("user_id");
}
