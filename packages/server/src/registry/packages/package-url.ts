/** Package URLs (ECMA-427): those of packages in databases are made, those in SBOMs are read. Pure. */
import type { DatabaseEntry, FoundPackage } from "./found-package.ts";
import type { Distribution } from "./os-release.ts";
import { originFromSourceRpm } from "./rpm-header.ts";

export type DatabaseType = "apk" | "deb" | "rpm";

export function packageFromEntry(entry: DatabaseEntry, type: DatabaseType, location: string, distribution: Distribution): FoundPackage {
  const { name, architecture, origin, epoch } = entry;
  return {
    ...{ type, name, architecture, origin, location },
    version: epoch === "" ? entry.version : `${epoch}:${entry.version}`,
    source: "image",
    purl: urlOf(entry, type, distribution),
  };
}

function urlOf(
  { name, version, architecture, origin, epoch }: DatabaseEntry,
  type: DatabaseType,
  { id, version: release }: Distribution,
): string {
  const qualifiers: readonly (readonly [string, string])[] = [
    ["arch", architecture],
    ["distro", id === "" || release === "" ? id : `${id}-${release}`],
    ["epoch", epoch],
    ["upstream", origin === name ? "" : origin],
  ];
  const query = qualifiers.flatMap(([key, value]) => (value === "" ? [] : [`${key}=${encode(value)}`])).join("&");
  return `pkg:${type}/${id === "" ? "" : `${encode(id)}/`}${encode(name)}@${encode(version)}${query === "" ? "" : `?${query}`}`;
}

/** Lone surrogates are kept out of the list later; here they must not throw. */
function encode(text: string): string {
  return encodeURIComponent(text.toWellFormed()).replaceAll("%3A", ":");
}

/** Types whose namespace is part of the name, and how it is joined to it. Of distributions' packages it names the distribution. */
const JOINTS: Readonly<Record<string, string>> = { maven: ":", apk: "", deb: "", rpm: "", alpm: "" };

/** Undefined for what is no package URL, or has no version. */
export function packageFromUrl(purl: string, document: Pick<FoundPackage, "location" | "source">): FoundPackage | undefined {
  const [address = "", query = ""] = (purl.split("#", 1)[0] ?? "").split("?");
  const at = address.lastIndexOf("@");
  const [, rawType, path = ""] = /^pkg:\/*([A-Za-z][\w.+-]*)\/(.*)$/s.exec(address.slice(0, Math.max(0, at))) ?? [];
  const version = decode(address.slice(at + 1));
  if (rawType === undefined || version.includes("/")) return undefined;
  const type = rawType.toLowerCase();
  const segments = path
    .split("/")
    .filter((segment) => segment !== "")
    .map(decode);
  const name = segments.pop();
  if (name === undefined) return undefined;
  const joint = JOINTS[type] ?? "/";
  const fullName = joint === "" || segments.length === 0 ? name : `${segments.join("/")}${joint}${name}`;
  const qualifiers = new Map(query.split("&").map((pair): [string, string] => [keyOf(pair), decode(pair.slice(pair.indexOf("=") + 1))]));
  const epoch = qualifiers.get("epoch") ?? "";
  return {
    type,
    name: fullName,
    version: type !== "rpm" || epoch === "" || epoch === "0" || version.includes(":") ? version : `${epoch}:${version}`,
    architecture: qualifiers.get("arch") ?? "",
    origin: originFrom(qualifiers.get("upstream") ?? "") || fullName,
    ...document,
    purl,
  };
}

function keyOf(pair: string): string {
  return pair.slice(0, Math.max(0, pair.indexOf("="))).toLowerCase();
}

/** `openssl`, `openssl@3.0.1-1`, or the name of a source RPM. */
function originFrom(upstream: string): string {
  return originFromSourceRpm(upstream) ?? upstream.split("@", 1)[0] ?? "";
}

function decode(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}
