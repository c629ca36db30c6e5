/** Kinds of resources whose names are accepted instead of uids. */

interface KindRule {
  /** For messages: "no group ...". */
  readonly label: string;
  /** The list of REST. */
  readonly path: string;
  /** The field of its answer. */
  readonly items: string;
}

export const kinds = {
  group: { label: "group", path: "/iam/v2/groups", items: "groups" },
  identity: { label: "identity", path: "/iam/v2/identities", items: "identities" },
  role: { label: "role", path: "/iam/v2/roles", items: "roles" },
  identityProvider: { label: "identity provider", path: "/iam/v2/identityProviders", items: "identityProviders" },
  accountAssociation: { label: "account association", path: "/iam/v2/accountAssociations", items: "accountAssociations" },
  pullToken: { label: "pull token", path: "/holt/v1/pullTokens", items: "pullTokens" },
  repo: { label: "repository", path: "/registry/v2/repos", items: "repos" },
  signatureIdentity: { label: "signature identity", path: "/holt/v1/signatureIdentities", items: "signatureIdentities" },
  signatureKey: { label: "signature key", path: "/holt/v1/signatureKeys", items: "signatureKeys" },
  pythonProject: { label: "Python project", path: "/holt/v1/pythonProjects", items: "pythonProjects" },
  mirror: { label: "mirror", path: "/holt/v1/advisoryMirrors", items: "advisoryMirrors" },
} as const satisfies Readonly<Record<string, KindRule>>;

export type ListedKind = keyof typeof kinds;
/** A place is a group or a repository. */
export type ResourceKind = ListedKind | "place";

export function listedKinds(kind: ResourceKind): readonly ListedKind[] {
  return kind === "place" ? ["group", "repo"] : [kind];
}
