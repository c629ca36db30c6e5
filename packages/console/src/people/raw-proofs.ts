/** How an identity proves itself, as the contract has it: for other issuers, and to change an identity that exists. */
import type {
  Identity,
  Identity_AWSIdentity,
  Identity_ClaimMatch,
  Identity_StaticKeys,
} from "@holt/api/gen/platform/iam/v2/identities_pb.ts";
import type { Proof, ProofField, Values } from "./identity-kinds.ts";

/** Two fields of a form for a field of the contract that is either a value or a pattern. */
function valueOrPattern(name: string, label: string, decides: string, more: Partial<ProofField>): readonly ProofField[] {
  return [
    { name, label, decides: [decides, `${decides}_pattern`], ...more },
    { name: `${name}IsPattern`, label: `The ${label[0]?.toLowerCase()}${label.slice(1)} is a pattern (RE2)`, type: "check" },
  ];
}

export const rawClaimMatch: Proof = {
  fields: [
    ...valueOrPattern("issuer", "Issuer", "claim_match.issuer", { isRequired: true, placeholder: "https://issuer.example.com" }),
    ...valueOrPattern("subject", "Subject", "claim_match.subject", { isRequired: true }),
    ...valueOrPattern("audience", "Audience", "claim_match.audience", { description: "This server if empty" }),
    {
      name: "claims",
      label: "Further claims",
      description: "One per line: name=value",
      type: "lines",
      decides: ["claim_match.claims"],
    },
    {
      name: "claimPatterns",
      label: "Patterns of further claims",
      description: "One per line: name=pattern (RE2)",
      type: "lines",
      decides: ["claim_match.claim_patterns"],
    },
  ],
  relationshipFrom: (values) => {
    const { issuer = "", subject = "", audience = "", claims = "", claimPatterns = "" } = values;
    const isPattern = (name: string) => values[`${name}IsPattern`] === "yes";
    return {
      case: "claimMatch",
      value: {
        iss: isPattern("issuer") ? { case: "issuerPattern", value: issuer } : { case: "issuer", value: issuer },
        sub: isPattern("subject") ? { case: "subjectPattern", value: subject } : { case: "subject", value: subject },
        aud:
          audience === ""
            ? { case: undefined }
            : isPattern("audience")
              ? { case: "audiencePattern", value: audience }
              : { case: "audience", value: audience },
        claims: pairsFrom(claims),
        claimPatterns: pairsFrom(claimPatterns),
      },
    };
  },
};

const rawStaticKeys: Proof = {
  fields: [
    { name: "issuer", label: "Issuer", isRequired: true, decides: ["static_keys.issuer"] },
    { name: "subject", label: "Subject", isRequired: true, decides: ["static_keys.subject"] },
    { name: "audience", label: "Audience", description: "This server if empty", decides: ["static_keys.audiences"] },
    { name: "keys", label: "Public keys", description: "A JWK set", type: "lines", isRequired: true, decides: ["static_keys.issuer_keys"] },
  ],
  relationshipFrom: ({ issuer = "", subject = "", audience = "", keys = "" }) => ({
    case: "staticKeys",
    value: { issuer, subject, issuerKeys: keys, audiences: audience === "" ? [] : [audience] },
  }),
};

const rawAws: Proof = {
  fields: [
    { name: "account", label: "Account", isRequired: true, decides: ["aws_identity.aws_account"] },
    ...valueOrPattern("arn", "ARN", "aws_identity.arn", { isRequired: true }),
    ...valueOrPattern("userId", "User id", "aws_identity.user_id", { isRequired: true }),
  ],
  relationshipFrom: (values) => {
    const { account = "", arn = "", userId = "" } = values;
    return {
      case: "awsIdentity",
      value: {
        awsAccount: account,
        awsArn: values.arnIsPattern === "yes" ? { case: "arnPattern", value: arn } : { case: "arn", value: arn },
        awsUserId: values.userIdIsPattern === "yes" ? { case: "userIdPattern", value: userId } : { case: "userId", value: userId },
      },
    };
  },
};

/** The form of a stored proof and its values; undefined for a service of the platform, which nobody changes. */
export function storedProof({ relationship }: Identity): { readonly proof: Proof; readonly values: Values } | undefined {
  switch (relationship.case) {
    case "claimMatch":
      return { proof: rawClaimMatch, values: claimMatchValues(relationship.value) };
    case "staticKeys":
      return { proof: keepingExpiration(relationship.value), values: staticKeysValues(relationship.value) };
    case "awsIdentity":
      return { proof: rawAws, values: awsValues(relationship.value) };
    default:
      return undefined;
  }
}

function keepingExpiration({ expirationTime }: Identity_StaticKeys): Proof {
  return {
    ...rawStaticKeys,
    relationshipFrom: (values) => {
      const relationship = rawStaticKeys.relationshipFrom(values);
      return relationship.case === "staticKeys" ? { ...relationship, value: { ...relationship.value, expirationTime } } : relationship;
    },
  };
}

function claimMatchValues({ iss, sub, aud, claims, claimPatterns }: Identity_ClaimMatch): Values {
  return {
    issuer: iss.value ?? "",
    issuerIsPattern: yes(iss.case === "issuerPattern"),
    subject: sub.value ?? "",
    subjectIsPattern: yes(sub.case === "subjectPattern"),
    audience: aud.value ?? "",
    audienceIsPattern: yes(aud.case === "audiencePattern"),
    claims: linesOf(claims),
    claimPatterns: linesOf(claimPatterns),
  };
}

function staticKeysValues({ issuer, subject, audiences, issuerKeys }: Identity_StaticKeys): Values {
  return { issuer, subject, audience: audiences[0] ?? "", keys: issuerKeys };
}

function awsValues({ awsAccount, awsArn, awsUserId }: Identity_AWSIdentity): Values {
  return {
    account: awsAccount,
    arn: awsArn.value ?? "",
    arnIsPattern: yes(awsArn.case === "arnPattern"),
    userId: awsUserId.value ?? "",
    userIdIsPattern: yes(awsUserId.case === "userIdPattern"),
  };
}

function yes(condition: boolean): string {
  return condition ? "yes" : "";
}

function pairsFrom(lines: string): Record<string, string> {
  const pairs = lines.split("\n").filter((line) => line.trim() !== "");
  return Object.fromEntries(
    pairs.map((line) => {
      const [name = "", ...rest] = line.split("=");
      return [name.trim(), rest.join("=").trim()];
    }),
  );
}

function linesOf(pairs: Readonly<Record<string, string>>): string {
  return Object.entries(pairs)
    .map(([name, value]) => `${name}=${value}`)
    .join("\n");
}
