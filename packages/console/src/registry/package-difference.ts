/** Compares the packages of two images. */
import { callUnaryMethod } from "@connectrpc/connect-query";
import { type ImagePackage, ImagePackagesService } from "@holt/api/gen/holt/v1/image_packages_pb.ts";
import { MAX_PAGE_SIZE } from "../list/list-method.ts";
import { transport } from "../session/transport.ts";

export interface PackageDifference {
  readonly type: string;
  readonly name: string;
  readonly platform: string;
  /** Empty if the package was added. */
  readonly before: string;
  /** Empty if the package was removed. */
  readonly after: string;
}

/** All packages of an image, page by page. */
export async function readPackages(uid: string, digest: string, signal: AbortSignal): Promise<readonly ImagePackage[]> {
  const packages: ImagePackage[] = [];
  let pageToken = "";
  do {
    const request = { uid, digest, pageSize: MAX_PAGE_SIZE, pageToken };
    const page = await callUnaryMethod(transport, ImagePackagesService.method.listImagePackages, request, { signal });
    packages.push(...page.packages);
    pageToken = page.nextPageToken;
  } while (pageToken !== "");
  return packages;
}

/** In the order of names. A package may have several versions in an image. */
export function differenceOf(before: readonly ImagePackage[], after: readonly ImagePackage[]): readonly PackageDifference[] {
  const [old, now] = [versionsOf(before), versionsOf(after)];
  return [...new Set([...old.keys(), ...now.keys()])]
    .flatMap((key) => {
      const [name = "", type = "", platform = ""] = key.split("\n");
      const [from, to] = [versionText(old.get(key)), versionText(now.get(key))];
      return from === to ? [] : [{ name, type, platform, before: from, after: to }];
    })
    .sort((a, b) => (a.name < b.name ? -1 : a.name > b.name ? 1 : 0));
}

function versionsOf(packages: readonly ImagePackage[]): ReadonlyMap<string, ReadonlySet<string>> {
  const versions = new Map<string, Set<string>>();
  for (const { name, type, platform, version } of packages) {
    const key = [name, type, platform].join("\n");
    versions.set(key, (versions.get(key) ?? new Set()).add(version));
  }
  return versions;
}

function versionText(versions: ReadonlySet<string> = new Set()): string {
  return [...versions].sort().join(", ");
}
