/** Lists the packages of several descriptions by name. The cost of a page does not grow with the number of packages. */

import type { ReadDb } from "../../db/store.ts";
import type { ImagePackageTable } from "../tables.ts";
import type { Description } from "./descriptions.ts";

export interface ListedPackage extends ImagePackageTable {
  readonly description: Description;
}

/** The position of a package in the list. `digest` is that of the manifest that names the package. */
export type PackageKey = readonly [name: string, type: string, version: string, architecture: string, location: string, digest: string];

export async function listPackages(
  db: ReadDb,
  descriptions: readonly Description[],
  after: PackageKey | undefined,
  limit: number,
): Promise<ListedPackage[]> {
  const pages = [];
  for (const [index, description] of descriptions.entries()) {
    if (description.scan.package_count === 0) continue;
    const rows = await readPage(db, description, namedBefore(descriptions, index), after, limit);
    pages.push(...rows.map((row) => ({ ...row, description })));
  }
  return pages.sort((a, b) => compareKeys(keyOf(a), keyOf(b))).slice(0, limit);
}

export function keyOf({ name, type, version, architecture, location, digest }: ImagePackageTable): PackageKey {
  return [name, type, version, architecture, location, digest];
}

/** Compares bytes, as the database does. */
function compareKeys(a: PackageKey, b: PackageKey): number {
  for (const [index, part] of a.entries()) {
    const order = Buffer.compare(Buffer.from(part), Buffer.from(b[index] ?? ""));
    if (order !== 0) return order;
  }
  return 0;
}

/** The digests whose packages an SBOM does not list again: of the image itself, and of earlier SBOMs. */
function namedBefore(descriptions: readonly Description[], index: number): string[] {
  const description = descriptions[index];
  if (description === undefined || !description.isSbom) return [];
  const isOfAll = !descriptions.some(({ digest }) => digest === description.imageDigest);
  return descriptions
    .slice(0, index)
    .filter(({ imageDigest }) => isOfAll || imageDigest === description.imageDigest)
    .map(({ digest }) => digest);
}

function readPage(db: ReadDb, { digest }: Description, others: readonly string[], after: PackageKey | undefined, limit: number) {
  const [name = "", type = "", version = "", architecture = "", location = "", last = ""] = after ?? [];
  return (
    db
      .selectFrom("image_package as p")
      .selectAll("p")
      .where("p.digest", "=", digest)
      // A package at the same position was listed already for the digests up to the last one.
      .$if(after !== undefined, (query) =>
        query.where(({ eb, refTuple, tuple }) =>
          eb(
            refTuple("p.name", "p.type", "p.version", "p.architecture", "p.location"),
            digest > last ? ">=" : ">",
            tuple(name, type, version, architecture, location),
          ),
        ),
      )
      .$if(others.length > 0, (query) =>
        query.where(({ not, exists, selectFrom }) =>
          not(
            exists(
              selectFrom("image_package as o")
                .select("o.digest")
                .where("o.digest", "in", selectFrom(db.dialect.valuesOf(others).as("v")).select("v.value"))
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
