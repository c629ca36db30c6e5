/** Compares the packages of two images. Pure but for the reading of the packages. */
import type { ReadDb } from "../../db/store.ts";
import { resourceExhausted } from "../../lib/errors.ts";
import type { ImageDescription } from "./descriptions.ts";
import { listPackages, type PackageKey, packageKeyOf } from "./list-packages.ts";

export interface ComparedPackage {
  readonly type: string;
  readonly name: string;
  readonly version: string;
  readonly platform: string;
}

export interface PackageDifference {
  readonly type: string;
  readonly name: string;
  readonly platform: string;
  /** Empty if the package was added. */
  readonly before: string[];
  /** Empty if the package was removed. */
  readonly after: string[];
}

const MAX_PACKAGES = 20_000;
const PAGE_SIZE = 1000;

/** @throws HoltError RESOURCE_EXHAUSTED for a larger image */
export async function readAllPackages(db: ReadDb, descriptions: readonly ImageDescription[]): Promise<ComparedPackage[]> {
  const packages: ComparedPackage[] = [];
  let after: PackageKey | undefined;
  do {
    const page = await listPackages(db, descriptions, after, PAGE_SIZE);
    for (const { type, name, version, description } of page) packages.push({ type, name, version, platform: description.platform });
    if (packages.length > MAX_PACKAGES)
      throw resourceExhausted(`an image has more than ${MAX_PACKAGES} packages; list them in pages instead`);
    const last = page.length === PAGE_SIZE ? page.at(-1) : undefined;
    after = last && packageKeyOf(last);
  } while (after !== undefined);
  return packages;
}

/** In the order of names. A package may have several versions in an image. */
export function differencesOf(before: readonly ComparedPackage[], after: readonly ComparedPackage[]): PackageDifference[] {
  const old = versionsOf(before);
  const now = versionsOf(after);
  return [...new Set([...old.keys(), ...now.keys()])].sort().flatMap((key) => {
    const from = sorted(old.get(key));
    const to = sorted(now.get(key));
    if (from.join("\n") === to.join("\n")) return [];
    const [name = "", type = "", platform = ""] = key.split("\n");
    return [{ name, type, platform, before: from, after: to }];
  });
}

function versionsOf(packages: readonly ComparedPackage[]): ReadonlyMap<string, ReadonlySet<string>> {
  const versions = new Map<string, Set<string>>();
  for (const { name, type, platform, version } of packages) {
    const key = [name, type, platform].join("\n");
    const known = versions.get(key);
    if (known === undefined) versions.set(key, new Set([version]));
    else known.add(version);
  }
  return versions;
}

function sorted(versions: ReadonlySet<string> = new Set()): string[] {
  return [...versions].sort();
}
