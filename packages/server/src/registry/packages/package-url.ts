/** Packages of images from the package URLs in SBOMs, and the package URLs of entries in package databases. Pure. */
import { formatVerbatimPackageUrl, fullNameOf, originVersionOf, parseVerbatimPackageUrl } from "../../lib/package-url.ts";
import type { DatabaseEntry, FoundPackage } from "./found-package.ts";
import type { OsRelease } from "./os-release.ts";
import { originFromSourceRpm } from "./rpm-header.ts";

export type DatabaseType = "apk" | "deb" | "rpm";

export function packageFromEntry(entry: DatabaseEntry, type: DatabaseType, location: string, distribution: OsRelease): FoundPackage {
  const { name, architecture, origin, epoch } = entry;
  return {
    type,
    name,
    version: epoch === "" ? entry.version : `${epoch}:${entry.version}`,
    architecture,
    origin,
    location,
    source: "image",
    purl: urlOf(entry, type, distribution),
  };
}

function urlOf(entry: DatabaseEntry, type: DatabaseType, { id, version: release }: OsRelease): string {
  const { name, version, architecture, origin, originVersion, epoch } = entry;
  const distro = id === "" || release === "" ? id : `${id}-${release}`;
  const upstream = originVersion !== "" ? `${origin}@${originVersion}` : origin === name ? "" : origin;
  return formatVerbatimPackageUrl({ type, namespace: id, name, version, qualifiers: { arch: architecture, distro, epoch, upstream } });
}

/** Undefined for a string that is not a package URL with a version. */
export function packageFromUrl(purl: string, document: Pick<FoundPackage, "location" | "source">): FoundPackage | undefined {
  const url = parseVerbatimPackageUrl(purl);
  if (url === undefined) return undefined;
  const { type, version, qualifiers } = url;
  const { epoch = "", arch = "", upstream = "" } = qualifiers;
  const name = fullNameOf(url);
  return {
    type,
    name,
    version: type !== "rpm" || epoch === "" || epoch === "0" || version.includes(":") ? version : `${epoch}:${version}`,
    architecture: arch,
    origin: originFrom(upstream) || name,
    ...document,
    purl,
  };
}

/** `openssl`, `openssl@3.0.1-1`, or the name of a source RPM. */
function originFrom(upstream: string): string {
  return originFromSourceRpm(upstream) ?? upstream.split("@", 1)[0] ?? "";
}

/** The package URL of the source package that a package is built from. */
export function originUrlOf(purl: string, origin: string): string {
  const url = parseVerbatimPackageUrl(purl);
  if (url === undefined) return purl;
  const originVersion = originVersionOf(url);
  if (originVersion === "" && origin === fullNameOf(url)) return purl;
  const { upstream: _, ...qualifiers } = url.qualifiers;
  return formatVerbatimPackageUrl({ ...url, name: origin, version: originVersion || url.version, qualifiers });
}
