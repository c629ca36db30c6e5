/** Whether an OSV ecosystem or a group's distribution is the one of an image. Pure. */

/** Ids of os-release and namespaces of package URLs, by the name of the ecosystem without its release. */
const ids: Readonly<Record<string, readonly string[]>> = {
  "Azure Linux": ["azurelinux", "mariner"],
  // Images of one use packages of the other.
  Chainguard: ["chainguard", "wolfi"],
  Wolfi: ["wolfi", "chainguard"],
  "Photon OS": ["photon"],
  "Red Hat": ["rhel", "redhat", "ubi"],
  "Rocky Linux": ["rocky", "rocky-linux", "rockylinux"],
  SUSE: ["sles", "sled", "suse"],
  openSUSE: ["opensuse", "opensuse-leap", "opensuse-tumbleweed"],
};

/** @param ecosystem such as `Alpine:v3.22` @param distribution such as `alpine 3.22.1`; empty if unknown */
export function appliesTo(ecosystem: string, distribution: string): boolean {
  const id = idOf(distribution);
  const [, version = ""] = distribution.split(" ");
  const [name = "", ...release] = ecosystem.split(":");
  if (id === "" || name === "") return true;
  // Fixes of Ubuntu Pro are in a repository of their own, which images do not use.
  if (name === "Ubuntu" && release[0] === "Pro") return false;
  if (name === "openSUSE" && !isOpenSuse(release[0] ?? "", id)) return false;
  return isDistribution(name, id) && isRelease(releaseIn(release.join(":")), version);
}

/** In lower case: SBOMs spell it in any way, such as `openEuler`. Empty if unknown. @param distribution such as `alpine 3.22.1` */
export function idOf(distribution: string): string {
  return (distribution.split(" ")[0] ?? "").toLowerCase();
}

/** @param name of an ecosystem, in any case @param id in lower case */
export function isDistribution(name: string, id: string): boolean {
  const known = Object.entries(ids).find(([ecosystem]) => ecosystem.toLowerCase() === name.toLowerCase());
  return known === undefined ? name.toLowerCase().replace(/[^a-z0-9]/g, "") === id.replace(/[^a-z0-9]/g, "") : known[1].includes(id);
}

/** The ecosystem has several distributions, such as `Leap 15.6` and `Tumbleweed`, which has no number. Old images do not name theirs. */
function isOpenSuse(release: string, id: string): boolean {
  const [distribution = ""] = release.toLowerCase().split(" ");
  return id === "opensuse" || id.startsWith(`opensuse-${distribution}`);
}

/** `Linux Enterprise Server 15 SP5` is release 15.5. Without a service pack it may be about all of them. */
function releaseIn(text: string): string {
  const [, number = "", servicePack] = /(\d+(?:\.\d+)*)(?: SP(\d+))?/.exec(text) ?? [];
  return servicePack === undefined ? number : `${number}.${servicePack}`;
}

/** Release 3.22 contains version 3.22.1. An empty one is unknown. */
function isRelease(release: string, version: string): boolean {
  return release === "" || version === "" || version === release || version.startsWith(`${release}.`);
}
