/** Advisories about packages of Alpine's format as a security database, which says in which version of a package what was fixed. Pure. */
import { packageType } from "./ecosystems.ts";
import type { PublishedAdvisory } from "./published-advisory.ts";
import type { Frame, Rendering } from "./rendering.ts";

/** In the place of a version: none was ever affected. */
const NEVER = "0";

/**
 * @param advisories about artifacts of one name
 * @returns undefined where there is nothing to say in this format: it knows fixes and false positives of apk packages only
 */
export function secdbPackage(advisories: readonly PublishedAdvisory[]): object | undefined {
  const packages = advisories.filter(({ artifactType, artifactName }) => packageType(artifactType) === "apk" && artifactName !== "");
  const fixes = new Map<string, Set<string>>();
  for (const { advisoryId, aliases, latest } of packages) {
    for (const version of versionsOf(latest)) {
      const ids = fixes.get(version) ?? new Set();
      fixes.set(version, ids);
      for (const id of aliases.length === 0 ? [advisoryId] : aliases) ids.add(id);
    }
  }
  if (fixes.size === 0) return undefined;
  const secfixes = Object.fromEntries([...fixes].sort(([a], [b]) => (a < b ? -1 : 1)).map(([version, ids]) => [version, [...ids].sort()]));
  return { pkg: { name: packages[0]?.artifactName, secfixes } };
}

function versionsOf({ kind, versions }: PublishedAdvisory["latest"]): readonly string[] {
  if (kind === "falsePositiveDetermination") return [NEVER];
  return kind === "fixed" ? versions : [];
}

/** What is around the packages. */
export function secdbFrame({ baseUrl, groupName, architectures }: Rendering): Frame {
  const database = {
    apkurl: "{{urlprefix}}/{{reponame}}/{{arch}}/{{pkg.name}}-{{pkg.ver}}.apk",
    archs: architectures,
    reponame: groupName,
    urlprefix: baseUrl,
  };
  return { head: `${JSON.stringify(database).slice(0, -1)},"packages":[\n`, tail: () => "\n]}\n" };
}
