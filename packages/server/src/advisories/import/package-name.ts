/** Names packages as advisories do: by the type of package URLs and the full name in the package's ecosystem. Pure. */
import { fullNameOf, parsePackageUrl } from "../../lib/package-url.ts";
import { type Node, nameOf } from "./fields.ts";
import { BadRecord } from "./record.ts";

const MAX_URL = 1000;

export interface PackageName {
  readonly type: string;
  readonly name: string;
  readonly architecture: string;
  /** Empty if there is none. */
  readonly version: string;
}

/** Package types of OSV ecosystems, by the ecosystem's name up to the colon. Distributions have the type of their package format. */
const types: ReadonlyMap<string, string> = new Map(
  Object.entries({
    apk: ["Alpaquita", "Alpine", "BellSoft Hardened Containers", "Chainguard", "MinimOS", "Wolfi"],
    deb: ["Debian", "Echo", "Ubuntu"],
    rpm: ["AlmaLinux", "Azure Linux", "Mageia", "Photon OS", "Red Hat", "Rocky Linux", "SUSE", "openEuler", "openSUSE"],
    bitnami: ["Bitnami"],
    cargo: ["crates.io"],
    composer: ["Packagist"],
    conan: ["ConanCenter"],
    cran: ["Bioconductor", "CRAN"],
    gem: ["RubyGems"],
    githubactions: ["GitHub Actions"],
    golang: ["Go"],
    hackage: ["GHC", "Hackage"],
    hex: ["Hex"],
    julia: ["Julia"],
    maven: ["Maven"],
    npm: ["npm"],
    nuget: ["NuGet"],
    opam: ["opam"],
    pub: ["Pub"],
    pypi: ["PyPI"],
    swift: ["SwiftURL"],
    vscode: ["VSCode"],
  }).flatMap(([type, ecosystems]) => ecosystems.map((ecosystem) => [ecosystem, type])),
);

/** An unknown ecosystem is its own type, in lower case and with hyphens. */
export function typeOfEcosystem(ecosystem: string): string {
  const [name = ""] = ecosystem.split(":");
  return types.get(name) ?? name.toLowerCase().replace(/[^a-z0-9]+/g, "-");
}

/** @throws BadRecord */
export function packageFromUrl(node: Node): PackageName {
  const text = nameOf(node, MAX_URL);
  const url = parsePackageUrl(text);
  if (url === undefined) throw new BadRecord(node.pointer, `not a package URL: ${text.slice(0, 200)}`);
  // The namespace of an image is its publisher.
  const name = url.type === "oci" ? url.name : fullNameOf(url);
  return { type: url.type, name, architecture: url.qualifiers.arch ?? "", version: url.version };
}

export function isPackageUrl(id: unknown): boolean {
  return typeof id === "string" && id.startsWith("pkg:");
}
