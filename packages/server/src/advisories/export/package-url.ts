/** Builds package URLs of the artifacts and components of advisories. Pure. */
import { formatPackageUrl } from "../../lib/package-url.ts";
import { distributionOf, type NamedGroups, packageType } from "./ecosystems.ts";
import type { PublishedAdvisory } from "./published-advisory.ts";

/** @param version the empty string for all versions */
export function artifactUrl(advisory: PublishedAdvisory, groups: NamedGroups, version = ""): string {
  const { uid, artifactType, artifactName, artifactArchitecture } = advisory;
  const type = packageType(artifactType);
  const distribution = distributionOf(type, uid, groups);
  return createUrl({ type, namespace: distribution?.namespace, name: artifactName, version, architecture: artifactArchitecture });
}

/** Undefined if the advisory is about the artifact as a whole. */
export function componentUrl(advisory: PublishedAdvisory, groups: NamedGroups): string | undefined {
  const { uid, componentType, componentName } = advisory;
  if (componentName === "") return undefined;
  const type = packageType(componentType);
  const url = createUrl({
    type,
    namespace: distributionOf(type, uid, groups)?.namespace,
    name: componentName,
    version: "",
    architecture: "",
  });
  return url === artifactUrl({ ...advisory, artifactArchitecture: "" }, groups) ? undefined : url;
}

interface UrlFields {
  readonly type: string;
  /** Undefined if the name includes the namespace. */
  readonly namespace: string | undefined;
  readonly name: string;
  readonly version: string;
  readonly architecture: string;
}

function createUrl({ type, namespace, name, version, architecture }: UrlFields): string {
  const parts = namespace === undefined ? splitName(type, name) : { namespace, name };
  const rest = { version, qualifiers: architecture === "" ? {} : { arch: architecture } };
  try {
    return formatPackageUrl({ type, ...parts, ...rest });
  } catch {
    // The type does not allow the name, such as a Maven artifact without a group.
    return formatPackageUrl({ type: "generic", namespace: "", name: name || "unknown", ...rest });
  }
}

/** Splits a name into namespace and last part, for the ecosystems whose names have parts. */
function splitName(type: string, name: string): { readonly namespace: string; readonly name: string } {
  const separator = type === "maven" ? ":" : "/";
  const at = ["maven", "npm", "golang", "composer", "githubactions", "swift"].includes(type) ? name.lastIndexOf(separator) : -1;
  return at < 0 ? { namespace: "", name } : { namespace: name.slice(0, at), name: name.slice(at + 1) };
}
