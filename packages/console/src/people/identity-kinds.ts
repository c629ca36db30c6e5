/** The common kinds of machines: which fields a person fills in for each, and how the machine then proves itself. */
import type { MessageInitShape } from "@bufbuild/protobuf";
import type { Identity_ClaimMatchSchema, IdentitySchema } from "@holt/api/gen/platform/iam/v2/identities_pb.ts";
import { rawClaimMatch } from "./raw-proofs.ts";

export type Values = Readonly<Record<string, string>>;
export type Relationship = NonNullable<MessageInitShape<typeof IdentitySchema>["relationship"]>;
type ClaimMatch = MessageInitShape<typeof Identity_ClaimMatchSchema>;

/** One input of a form. Its value is a text: that of a check box is `yes` or empty, that of lines has one per line. */
export interface ProofField {
  readonly name: string;
  readonly label: string;
  readonly description?: string;
  readonly placeholder?: string;
  readonly type?: "text" | "lines" | "check";
  readonly isRequired?: boolean;
  readonly initial?: string;
  /** Fields of the contract that this one decides. */
  readonly decides?: readonly string[];
}

export interface Proof {
  readonly fields: readonly ProofField[];
  relationshipFrom(values: Values): Relationship;
}

export interface IdentityKind extends Proof {
  /** Part of the address. */
  readonly id: string;
  readonly title: string;
  readonly description: string;
  /** Whether the machine proves itself with a token that can be checked before the identity is saved. */
  readonly hasToken: boolean;
}

const ISSUER = ["claim_match.issuer"];
const SUBJECT = ["claim_match.subject", "claim_match.subject_pattern"];

const issuerField = (initial: string): ProofField => ({
  name: "issuer",
  label: "Issuer",
  description: "Another address only for a server of your own",
  isRequired: true,
  initial,
  decides: ISSUER,
});

export const identityKinds: readonly IdentityKind[] = [
  {
    id: "github",
    title: "GitHub Actions",
    description: "A workflow of one repository",
    hasToken: true,
    fields: [
      { name: "repository", label: "Repository", placeholder: "acme/shop", isRequired: true, decides: SUBJECT },
      { name: "branch", label: "Branch", description: "All branches, tags and pull requests if empty", placeholder: "main" },
      { name: "environment", label: "Environment", description: "In place of a branch, for jobs with an environment" },
      issuerField("https://token.actions.githubusercontent.com"),
    ],
    relationshipFrom: ({ repository = "", branch = "", environment = "", issuer = "" }) => {
      const part = environment === "" ? branch && `ref:refs/heads/${branch}` : `environment:${environment}`;
      return claimMatch(issuer, repository === "" ? { exact: "" } : subjectWith(`repo:${repository}:`, part));
    },
  },
  {
    id: "gitlab",
    title: "GitLab CI",
    description: "A pipeline of one project",
    hasToken: true,
    fields: [
      { name: "project", label: "Project", placeholder: "acme/shop", isRequired: true, decides: SUBJECT },
      { name: "branch", label: "Branch", description: "All branches and tags if empty", placeholder: "main" },
      issuerField("https://gitlab.com"),
    ],
    relationshipFrom: ({ project = "", branch = "", issuer = "" }) =>
      claimMatch(
        issuer,
        project === "" ? { exact: "" } : subjectWith(`project_path:${project}:`, branch && `ref_type:branch:ref:${branch}`),
      ),
  },
  {
    id: "kubernetes",
    title: "Kubernetes",
    description: "The pods of one service account",
    hasToken: true,
    fields: [
      {
        name: "issuer",
        label: "Issuer of the cluster",
        description: "kubectl get --raw /.well-known/openid-configuration shows it. This server must reach it.",
        placeholder: "https://oidc.eks.eu-central-1.amazonaws.com/id/EXAMPLE",
        isRequired: true,
        decides: ISSUER,
      },
      { name: "namespace", label: "Namespace", isRequired: true, initial: "default" },
      { name: "account", label: "Service account", isRequired: true, initial: "default", decides: SUBJECT },
    ],
    relationshipFrom: ({ issuer = "", namespace = "", account = "" }) =>
      claimMatch(issuer, { exact: `system:serviceaccount:${namespace}:${account}` }),
  },
  {
    id: "aws",
    title: "AWS",
    description: "A role of an account: Lambda, EC2, ECS",
    hasToken: false,
    fields: [
      { name: "account", label: "Account", placeholder: "123456789012", isRequired: true, decides: ["aws_identity.aws_account"] },
      { name: "role", label: "Name of the role", isRequired: true, decides: ["aws_identity.arn", "aws_identity.arn_pattern"] },
      {
        name: "roleId",
        label: "Id of the role",
        description: "Keeps out a later role of the same name; aws iam get-role shows it",
        placeholder: "AROAEXAMPLE",
        decides: ["aws_identity.user_id", "aws_identity.user_id_pattern"],
      },
    ],
    relationshipFrom: ({ account = "", role = "", roleId = "" }) => ({
      case: "awsIdentity",
      value: {
        awsAccount: account,
        awsArn: { case: "arnPattern", value: role && `arn:aws:sts::${account}:assumed-role/${quoted(role)}/.*` },
        awsUserId: { case: "userIdPattern", value: roleId === "" ? "[A-Z0-9]+:.*" : `${quoted(roleId)}:.*` },
      },
    }),
  },
  {
    id: "google",
    title: "Google Cloud",
    description: "A service account: Cloud Run, Compute Engine, Cloud Build",
    hasToken: true,
    fields: [
      {
        name: "subject",
        label: "Unique id of the service account",
        description: "21 digits; gcloud iam service-accounts describe shows it",
        isRequired: true,
        decides: SUBJECT,
      },
      { name: "email", label: "Its email address", description: "Checked in addition, if given", decides: ["claim_match.claims"] },
    ],
    relationshipFrom: ({ subject = "", email = "" }) =>
      claimMatch("https://accounts.google.com", { exact: subject }, email === "" ? {} : { claims: { email, email_verified: "true" } }),
  },
  {
    id: "key",
    title: "A static key",
    description: "For machines without an issuer. This page makes the key; the server gets its public half only.",
    hasToken: false,
    fields: [
      {
        name: "issuer",
        label: "Issuer",
        description: "The machine writes it into its proofs",
        isRequired: true,
        initial: `https://keys.${globalThis.location?.hostname ?? "test"}`,
        decides: ["static_keys.issuer"],
      },
      { name: "subject", label: "Subject", isRequired: true, placeholder: "build-server-1", decides: ["static_keys.subject"] },
      { name: "days", label: "Valid for days", isRequired: true, initial: "90", decides: ["static_keys.expiration_time"] },
    ],
    // The key itself is made when the identity is created (static-key.ts).
    relationshipFrom: ({ issuer = "", subject = "" }) => ({ case: "staticKeys", value: { issuer, subject } }),
  },
  {
    id: "other",
    title: "Another issuer",
    description: "Any issuer of OpenID Connect tokens, by its claims",
    hasToken: true,
    ...rawClaimMatch,
  },
];

/** A person joins with an invite, and has no identity in a group. */
export const PERSON = "person";

type Subject = { readonly exact: string } | { readonly pattern: string };

/** @param part the rest of the subject; anything if empty */
function subjectWith(prefix: string, part: string): Subject {
  return part === "" ? { pattern: `${quoted(prefix)}.*` } : { exact: `${prefix}${part}` };
}

function claimMatch(issuer: string, subject: Subject, more: ClaimMatch = {}): Relationship {
  const sub =
    "exact" in subject
      ? ({ case: "subject", value: subject.exact } as const)
      : ({ case: "subjectPattern", value: subject.pattern } as const);
  return { case: "claimMatch", value: { ...more, iss: { case: "issuer", value: issuer }, sub } };
}

/** The text as a pattern that matches nothing else. */
function quoted(text: string): string {
  return text.replace(/[\\^$.*+?()[\]{}|]/g, "\\$&");
}
