/** How an identity proves itself. */
import type { MessageInitShape } from "@bufbuild/protobuf";
import { type Identity, type IdentitySchema, ServicePrincipalSchema } from "@holt/api/gen/platform/iam/v2/identities_pb.ts";
import { enumText } from "../object/enum-text.ts";

type Relationship = NonNullable<MessageInitShape<typeof IdentitySchema>["relationship"]>;

/** One line: the issuer and the subject of its tokens, or what stands in for them. */
export function proofText({ relationship }: Identity): string {
  return proofRows(relationship)
    .slice(0, 2)
    .map(([, value]) => value)
    .join(" · ");
}

export function proofRows(relationship: Relationship): readonly (readonly [title: string, value: string])[] {
  switch (relationship.case) {
    case "claimMatch": {
      const { iss, sub, aud, claims, claimPatterns } = relationship.value;
      const further = Object.entries({ ...claims, ...claimPatterns });
      return [
        ["Issuer", iss?.value ?? ""],
        ["Subject", sub?.value ?? ""],
        ["Audience", aud?.value ?? "this server"],
        ["Claims", further.map(([name, value]) => `${name}: ${value}`).join(", ")],
      ];
    }
    case "staticKeys":
      return [
        ["Issuer", relationship.value.issuer ?? ""],
        ["Subject", relationship.value.subject ?? ""],
        ["Audience", relationship.value.audiences?.join(", ") || "this server"],
      ];
    case "awsIdentity":
      return [
        ["AWS account", relationship.value.awsAccount ?? ""],
        ["ARN", relationship.value.awsArn?.value ?? ""],
        ["User id", relationship.value.awsUserId?.value ?? ""],
      ];
    case "servicePrincipal":
      return [["Service", enumText(ServicePrincipalSchema, relationship.value)]];
    default:
      return [];
  }
}
