/**
 * Renders advisories about apk packages as an Alpine security database, which lists the vulnerabilities fixed in each
 * version. Pure.
 */
import { packageType } from "./ecosystems.ts";
import type { PublishedAdvisory } from "./published-advisory.ts";
import type { Frame, Rendering } from "./rendering.ts";

/** Stands in the place of a version: no version was ever affected. */
const NEVER = "0";

/**
 * @param advisories about artifacts of the same name
 * @returns undefined if none is a fix or a false positive of an apk package, as the format has nothing else
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

/** The JSON before the first and after the last package. */
export function secdbFrame({ baseUrl, groupName, architectures }: Rendering): Frame {
  const database = {
    apkurl: "{{urlprefix}}/{{reponame}}/{{arch}}/{{pkg.name}}-{{pkg.ver}}.apk",
    archs: architectures,
    reponame: groupName,
    urlprefix: baseUrl,
  };
  return { head: `${JSON.stringify(database).slice(0, -1)},"packages":[\n`, tail: () => "\n]}\n" };
}
