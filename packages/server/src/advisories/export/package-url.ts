/** Package URLs of what advisories are about. Pure. */
import { formatPackageUrl } from "../../lib/package-url.ts";
import { distributionOf, type NamedGroups, packageType } from "./ecosystems.ts";
import type { PublishedAdvisory } from "./published-advisory.ts";

/** @param version the empty string for all of them */
export function artifactUrl(advisory: PublishedAdvisory, groups: NamedGroups, version = ""): string {
  const { uid, artifactType, artifactName, artifactArchitecture } = advisory;
  const type = packageType(artifactType);
  const distribution = distributionOf(type, uid, groups);
  return urlOf(type, distribution?.namespace, artifactName, version, artifactArchitecture);
}

/** Undefined where the advisory is about the artifact as such. */
export function componentUrl(advisory: PublishedAdvisory, groups: NamedGroups): string | undefined {
  const { uid, componentType, componentName } = advisory;
  if (componentName === "") return undefined;
  const type = packageType(componentType);
  const url = urlOf(type, distributionOf(type, uid, groups)?.namespace, componentName, "", "");
  return url === artifactUrl({ ...advisory, artifactArchitecture: "" }, groups) ? undefined : url;
}

function urlOf(type: string, namespace: string | undefined, name: string, version: string, architecture: string): string {
  const parts = namespace === undefined ? partsOf(type, name) : { namespace, name };
  const rest = { version, qualifiers: architecture === "" ? {} : { arch: architecture } };
  try {
    return formatPackageUrl({ type, ...parts, ...rest });
  } catch {
    // The type does not allow the name, such as a Maven artifact without a group.
    return formatPackageUrl({ type: "generic", namespace: "", name: name || "unknown", ...rest });
  }
}

/** Where names have parts, all but the last are the namespace. */
function partsOf(type: string, name: string): { readonly namespace: string; readonly name: string } {
  const separator = type === "maven" ? ":" : "/";
  const at = ["maven", "npm", "golang", "composer", "githubactions", "swift"].includes(type) ? name.lastIndexOf(separator) : -1;
  return at < 0 ? { namespace: "", name } : { namespace: name.slice(0, at), name: name.slice(at + 1) };
}
