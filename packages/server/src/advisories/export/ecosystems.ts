/** What OSV calls the ecosystems of packages, and which distribution a group's packages are of: the tables that docs/advisories.md shows. Pure. */
import { ancestry } from "../../lib/uid.ts";

/** By the type of package URLs. Distributions' packages are not here: their ecosystem is the distribution. */
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
  /** As OSV writes it. */
  readonly name: string;
  /** Of its package URLs. */
  readonly namespace: string;
}

/** By the format of their packages; the first is meant where no group tells. */
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

/** Names of groups that say which distribution is theirs, in lower case. */
export const distributionNames: readonly string[] = Object.values(distributions).flatMap((all) =>
  all.map(({ name }) => name.toLowerCase()),
);

/** Names by the uids of groups, of those that have the name of a distribution; those of groups are always in lower case. */
export type NamedGroups = ReadonlyMap<string, string>;

/** The distribution that a package of this format is of: that of the nearest group above the advisory which is named after one of them. */
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

/** Undefined where OSV has no ecosystem for it. */
export function ecosystemOf(type: string, advisoryUid: string, groups: NamedGroups): string | undefined {
  return distributionOf(type, advisoryUid, groups)?.name ?? (Object.hasOwn(ecosystems, type) ? ecosystems[type] : undefined);
}

/** What scanners call the types of components, where package URLs have another word. */
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

/** The type of package URLs; `generic` for what has none. */
export function packageType(type: string): string {
  const name = type.toLowerCase();
  if (Object.hasOwn(types, name)) return types[name] as string;
  return Object.hasOwn(ecosystems, name) || Object.hasOwn(distributions, name) || name === "oci" ? name : "generic";
}
