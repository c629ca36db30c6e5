/**
 * Builds keys of advisories that can be statements about images or components. Such a statement is applied when findings
 * are read. So a change of it changes no stored finding, but the images to which it may apply are checked again. Pure.
 */
import { packageKey } from "./package-key.ts";

export interface Stated {
  readonly artifact_type: string;
  readonly artifact_name: string;
  readonly component_name: string;
}

/** Images that a statement can hold in. */
export interface StatementScope {
  /** `repo`: the images of repos with this name; `package`: the images with the package of this key. */
  readonly kind: "repo" | "package";
  readonly value: string;
}

/** Types of artifacts that are images. */
export const IMAGE_TYPES: ReadonlySet<string> = new Set(["oci", "docker", "image", "container"]);

export function isImageType(artifactType: string): boolean {
  return IMAGE_TYPES.has(artifactType.toLowerCase());
}

/** No type of packages begins like this. */
const PREFIXES = { repo: "statement-repo ", package: "statement-package " } as const;

/** Undefined for an advisory about a package itself. */
export function statementKey({ artifact_type, artifact_name, component_name }: Stated): string | undefined {
  // The name of a repo is the last part of each name that it has.
  if (isImageType(artifact_type)) return PREFIXES.repo + artifact_name.slice(artifact_name.lastIndexOf("/") + 1);
  return component_name === "" ? undefined : PREFIXES.package + packageKey(artifact_type, artifact_name);
}

/** Undefined for the key of a package. */
export function parseStatementKey(key: string): StatementScope | undefined {
  for (const kind of ["repo", "package"] as const)
    if (key.startsWith(PREFIXES[kind])) return { kind, value: key.slice(PREFIXES[kind].length) };
  return undefined;
}
