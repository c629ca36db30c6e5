/** Lists the packages of several descriptions by name. The cost of a page does not grow with the number of packages. */

import type { ReadDb } from "../../db/store.ts";
import type { ImagePackageTable } from "../tables.ts";
import type { ImageDescription } from "./descriptions.ts";

export interface ListedPackage extends ImagePackageTable {
  readonly description: ImageDescription;
}

/**
 * The position of a package in the list: name, type, version, architecture and location, then the manifest's digest.
 */
export type PackageKey = readonly [name: string, type: string, version: string, architecture: string, location: string, digest: string];

export async function listPackages(
  db: ReadDb,
  descriptions: readonly ImageDescription[],
  after: PackageKey | undefined,
  limit: number,
): Promise<ListedPackage[]> {
  const pages = [];
  for (const [index, description] of descriptions.entries()) {
    if (description.scan.package_count === 0) continue;
    const rows = await readPackages(db, description, { excluded: describedBefore(descriptions, index), after, limit });
    pages.push(...rows.map((row) => ({ ...row, description })));
  }
  return pages.sort((a, b) => compareKeys(packageKeyOf(a), packageKeyOf(b))).slice(0, limit);
}

export function packageKeyOf({ name, type, version, architecture, location, digest }: ImagePackageTable): PackageKey {
  return [name, type, version, architecture, location, digest];
}

/** Compares bytes, as both stores do. */
function compareKeys(a: PackageKey, b: PackageKey): number {
  for (const [index, part] of a.entries()) {
    const order = Buffer.compare(Buffer.from(part), Buffer.from(b[index] ?? ""));
    if (order !== 0) return order;
  }
  return 0;
}

/** Digests of the manifests whose packages an SBOM need not repeat: that of its image, and those of earlier SBOMs. */
function describedBefore(descriptions: readonly ImageDescription[], index: number): string[] {
  const description = descriptions[index];
  if (description === undefined || !description.isSbom) return [];
  const isForAllImages = !descriptions.some(({ digest }) => digest === description.imageDigest);
  return descriptions
    .slice(0, index)
    .filter(({ imageDigest }) => isForAllImages || imageDigest === description.imageDigest)
    .map(({ digest }) => digest);
}

interface PackageQuery {
  /** Packages of these manifests are left out. */
  readonly excluded: readonly string[];
  readonly after: PackageKey | undefined;
  readonly limit: number;
}

function readPackages(db: ReadDb, { digest }: ImageDescription, { excluded, after, limit }: PackageQuery) {
  const [name = "", type = "", version = "", architecture = "", location = "", last = ""] = after ?? [];
  return (
    db
      .selectFrom("image_package as p")
      .selectAll("p")
      .where("p.digest", "=", digest)
      // The page before may have ended between manifests that name the same package.
      .$if(after !== undefined, (query) =>
        query.where(({ eb, refTuple, tuple }) =>
          eb(
            refTuple("p.name", "p.type", "p.version", "p.architecture", "p.location"),
            digest > last ? ">=" : ">",
            tuple(name, type, version, architecture, location),
          ),
        ),
      )
      .$if(excluded.length > 0, (query) =>
        query.where(({ not, exists, selectFrom }) =>
          not(
            exists(
              selectFrom("image_package as o")
                .select("o.digest")
                .where("o.digest", "in", selectFrom(db.dialect.valuesOf(excluded).as("v")).select("v.value"))
                .whereRef("o.name", "=", "p.name")
                .whereRef("o.type", "=", "p.type")
                .whereRef("o.version", "=", "p.version"),
            ),
          ),
        ),
      )
      .orderBy("p.name")
      .orderBy("p.type")
      .orderBy("p.version")
      .orderBy("p.architecture")
      .orderBy("p.location")
      .limit(limit)
      .execute()
  );
}
