/**
 * Package URLs (ECMA-427), in two forms. The normalized form follows the rules of each type, by packageurl-js: advisories
 * are written in it. The verbatim form keeps names as a package database or an SBOM spells them, so that the packages of an
 * image stay recognizable. The library would write the Alpine package `R` as `r`, and `+` in versions unencoded.
 */
import { PackageURL } from "packageurl-js";

export interface PackageUrl {
  readonly type: string;
  /** Segments are separated by slashes. Empty if there is none. */
  readonly namespace: string;
  readonly name: string;
  /** Empty if the URL is about all versions. */
  readonly version: string;
  readonly qualifiers: Readonly<Record<string, string>>;
}

/** @throws Error if the type's rules do not allow the name, such as a Maven artifact without a group */
export function formatPackageUrl({ type, namespace, name, version, qualifiers }: PackageUrl): string {
  return new PackageURL(type, namespace || undefined, name, version || undefined, nonEmpty(qualifiers), undefined).toString();
}

function nonEmpty(qualifiers: PackageUrl["qualifiers"]): Record<string, string> | undefined {
  return Object.keys(qualifiers).length === 0 ? undefined : { ...qualifiers };
}

/** Undefined for a string that is not a package URL by its type's rules. */
export function parsePackageUrl(text: string): PackageUrl | undefined {
  try {
    const { type, namespace, name, version, qualifiers } = PackageURL.fromString(text);
    return { type, namespace: namespace ?? "", name, version: version ?? "", qualifiers: stringsOf(qualifiers) };
  } catch {
    return undefined;
  }
}

function stringsOf(values: object | undefined): Record<string, string> {
  return Object.fromEntries(
    Object.entries(values ?? {}).filter((entry): entry is [string, string] => typeof entry[1] === "string" && entry[1] !== ""),
  );
}

/** Writes qualifiers in the given order and leaves out empty ones. */
export function formatVerbatimPackageUrl({ type, namespace, name, version, qualifiers }: PackageUrl): string {
  const query = Object.entries(qualifiers).flatMap(([key, value]) => (value === "" ? [] : [`${key}=${encode(value)}`]));
  const address = `pkg:${type}/${namespace === "" ? "" : `${encode(namespace)}/`}${encode(name)}@${encode(version)}`;
  return query.length === 0 ? address : `${address}?${query.join("&")}`;
}

/** A string with lone surrogates must not throw here. */
function encode(text: string): string {
  return encodeURIComponent(text.toWellFormed()).replaceAll("%3A", ":");
}

/**
 * Undefined for a string that is not a package URL with a version. Only the type and the keys of qualifiers are normalized, to lower case.
 * Percent signs that encode nothing stay as they are.
 */
export function parseVerbatimPackageUrl(text: string): PackageUrl | undefined {
  const [address = "", query = ""] = (text.split("#", 1)[0] ?? "").split("?");
  const at = address.lastIndexOf("@");
  const [, type, path = ""] = /^pkg:\/*([A-Za-z][\w.+-]*)\/(.*)$/s.exec(address.slice(0, Math.max(0, at))) ?? [];
  const version = decode(address.slice(at + 1));
  if (type === undefined || version.includes("/")) return undefined;
  const segments = path.split("/").flatMap((segment) => (segment === "" ? [] : [decode(segment)]));
  const name = segments.pop();
  if (name === undefined) return undefined;
  return { type: type.toLowerCase(), namespace: segments.join("/"), name, version, qualifiers: parseQualifiers(query) };
}

function parseQualifiers(query: string): Record<string, string> {
  const pairs = query.split("&").map((pair) => {
    const equals = pair.indexOf("=");
    return [pair.slice(0, Math.max(0, equals)).toLowerCase(), decode(pair.slice(equals + 1))];
  });
  return Object.fromEntries(pairs);
}

function decode(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}

/** Types whose namespace names the distribution and is not part of the package's name. */
const DISTRIBUTION_TYPES: ReadonlySet<string> = new Set(["alpm", "apk", "deb", "rpm"]);

/** The name as the package's own ecosystem writes it, such as `group:artifact` for Maven. */
export function fullNameOf({ type, namespace, name }: PackageUrl): string {
  if (namespace === "" || DISTRIBUTION_TYPES.has(type)) return name;
  return `${namespace}${type === "maven" ? ":" : "/"}${name}`;
}

/** Version of the source package of a Debian package, if the URL names one: `3.0.1-1` in `upstream=openssl@3.0.1-1`. */
export function originVersionOf({ type, qualifiers }: PackageUrl): string {
  const { upstream = "" } = qualifiers;
  return type === "deb" && upstream.includes("@") ? upstream.slice(upstream.indexOf("@") + 1) : "";
}
