/** Compares the packages and vulnerabilities of two images, by platform and type of package URL. Pure. */
import { fieldOf, type Row } from "../output/output.ts";

/** The content of an image or of all images of an index. */
export interface Content {
  readonly digest: string;
  readonly platforms: readonly string[];
  /** As the API lists them. */
  readonly packages: readonly Row[];
  readonly vulnerabilities: readonly Row[];
  readonly isComplete: boolean;
}

export interface Difference {
  readonly kind: "package" | "vulnerability";
  readonly platform: string;
  /** Type of package URL. */
  readonly type: string;
  /** Name of the package. */
  readonly name: string;
  readonly change: "added" | "removed" | "changed";
  /** Versions of the package in the first image. */
  readonly before: readonly string[];
  readonly after: readonly string[];
  /** Id of the vulnerability. Differences of packages have neither id nor severity. */
  readonly id?: string;
  readonly severity?: string;
}

type Entry = Pick<Difference, "kind" | "platform" | "type" | "name" | "id" | "severity"> & { readonly versions: Set<string> };

export interface Comparison {
  readonly addedPlatforms: readonly string[];
  readonly removedPlatforms: readonly string[];
  readonly packages: readonly Difference[];
  readonly vulnerabilities: readonly Difference[];
}

/** Platforms that only one image has are named; their content is not compared. */
export function compareImages(before: Content, after: Content): Comparison {
  const isShared = ({ platform }: Entry) => platform === "" || (before.platforms.includes(platform) && after.platforms.includes(platform));
  const compare = (entriesOf: (content: Content) => Entry[]) =>
    differencesOf(entriesOf(before).filter(isShared), entriesOf(after).filter(isShared));
  return {
    addedPlatforms: after.platforms.filter((platform) => !before.platforms.includes(platform)),
    removedPlatforms: before.platforms.filter((platform) => !after.platforms.includes(platform)),
    packages: compare(({ packages }) => packages.map(packageEntry)),
    // Another version with the same vulnerability is a difference of packages only.
    vulnerabilities: compare(({ vulnerabilities }) => vulnerabilities.map(vulnerabilityEntry)).filter(({ change }) => change !== "changed"),
  };
}

function packageEntry(row: Row): Entry {
  const text = (field: string) => String(fieldOf(row, field) ?? "");
  const key = { platform: text("platform"), type: text("type"), name: text("name") };
  return { kind: "package", ...key, versions: new Set([text("version")]) };
}

function vulnerabilityEntry(row: Row): Entry {
  const text = (field: string) => String(fieldOf(row, `vulnerability.${field}`) ?? "");
  return {
    kind: "vulnerability",
    platform: String(row.platform ?? ""),
    type: text("packageType"),
    name: text("packageName"),
    id: text("vulnerabilityId"),
    severity: text("severity").replace("VULNERABILITY_SEVERITY_", "").toLowerCase(),
    versions: new Set([text("packageVersion")]),
  };
}

function differencesOf(before: readonly Entry[], after: readonly Entry[]): Difference[] {
  const old = merged(before);
  const current = merged(after);
  const keys = [...new Set([...old.keys(), ...current.keys()])].sort();
  return keys.flatMap((key) => {
    const { versions: _, ...entry } = (current.get(key) ?? old.get(key)) as Entry;
    const from = sortedVersions(old.get(key));
    const to = sortedVersions(current.get(key));
    if (from.join("\n") === to.join("\n")) return [];
    const change = from.length === 0 ? "added" : to.length === 0 ? "removed" : "changed";
    return [{ ...entry, change, before: from, after: to }];
  });
}

/** A package that is installed in several versions is one entry. */
function merged(entries: readonly Entry[]): Map<string, Entry> {
  const found = new Map<string, Entry>();
  for (const entry of entries) {
    const key = JSON.stringify([entry.platform, entry.type, entry.name, entry.id]);
    const known = found.get(key);
    if (known === undefined) found.set(key, entry);
    else for (const version of entry.versions) known.versions.add(version);
  }
  return found;
}

function sortedVersions(entry: Entry | undefined): string[] {
  return [...(entry?.versions ?? [])].sort();
}
