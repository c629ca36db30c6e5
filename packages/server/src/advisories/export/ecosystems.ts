/** Maps package types to OSV ecosystems, and groups to Linux distributions: the tables of docs/advisories.md. Pure. */
import { ancestry } from "../../lib/uid.ts";

/** OSV ecosystem by type of package URL. Distribution packages are not here, as their ecosystem is the distribution. */
const ecosystems: Readonly<Record<string, string>> = {
  bitnami: "Bitnami",
  cargo: "crates.io",
  composer: "Packagist",
  conan: "ConanCenter",
  cran: "CRAN",
  gem: "RubyGems",
  githubactions: "GitHub Actions",
  golang: "Go",
  hackage: "Hackage",
  hex: "Hex",
  maven: "Maven",
  npm: "npm",
  nuget: "NuGet",
  pub: "Pub",
  pypi: "PyPI",
  swift: "SwiftURL",
};

interface Distribution {
  /** The name in OSV. */
  readonly name: string;
  /** The namespace in package URLs. */
  readonly namespace: string;
}

/** Distributions by package format. The first is the default if no group names another. */
const distributions: Readonly<Record<string, readonly [Distribution, ...Distribution[]]>> = {
  apk: [
    { name: "Wolfi", namespace: "wolfi" },
    { name: "Chainguard", namespace: "chainguard" },
    { name: "Alpine", namespace: "alpine" },
    { name: "MinimOS", namespace: "minimos" },
  ],
  deb: [
    { name: "Debian", namespace: "debian" },
    { name: "Ubuntu", namespace: "ubuntu" },
  ],
  rpm: [
    { name: "Red Hat", namespace: "redhat" },
    { name: "AlmaLinux", namespace: "almalinux" },
    { name: "Mageia", namespace: "mageia" },
    { name: "openSUSE", namespace: "opensuse" },
    { name: "Photon OS", namespace: "photon" },
    { name: "Rocky Linux", namespace: "rocky" },
    { name: "SUSE", namespace: "suse" },
  ],
};

/** Names of groups, in lower case, that select a distribution. */
export const distributionNames: readonly string[] = Object.values(distributions).flatMap((all) =>
  all.map(({ name }) => name.toLowerCase()),
);

/** Uid → name of the groups that are named after a distribution. Names of groups are always lower case. */
export type NamedGroups = ReadonlyMap<string, string>;

/**
 * The distribution that the nearest group at or above the advisory is named after, or the format's default. Undefined
 * if the format is not a distribution's.
 */
export function distributionOf(type: string, advisoryUid: string, groups: NamedGroups): Distribution | undefined {
  const candidates = Object.hasOwn(distributions, type) ? distributions[type] : undefined;
  if (candidates === undefined) return undefined;
  for (const group of ancestry(advisoryUid)) {
    const name = groups.get(group);
    const found = name === undefined ? undefined : candidates.find((candidate) => candidate.name.toLowerCase() === name);
    if (found !== undefined) return found;
  }
  return candidates[0];
}

/** Undefined if OSV has no ecosystem for the type. */
export function ecosystemOf(type: string, advisoryUid: string, groups: NamedGroups): string | undefined {
  return distributionOf(type, advisoryUid, groups)?.name ?? (Object.hasOwn(ecosystems, type) ? ecosystems[type] : undefined);
}

/** Type of package URL by scanners' component type, where they differ. */
const types: Readonly<Record<string, string>> = {
  "dart-pub": "pub",
  dotnet: "nuget",
  go: "golang",
  "go-module": "golang",
  java: "maven",
  "java-archive": "maven",
  "jenkins-plugin": "maven",
  javascript: "npm",
  "php-composer": "composer",
  python: "pypi",
  ruby: "gem",
  "rust-crate": "cargo",
};

/** The type of package URL; `generic` for unknown types. */
export function packageType(type: string): string {
  const name = type.toLowerCase();
  if (Object.hasOwn(types, name)) return types[name] as string;
  return Object.hasOwn(ecosystems, name) || Object.hasOwn(distributions, name) || name === "oci" ? name : "generic";
}
