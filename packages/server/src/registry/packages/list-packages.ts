/** Packages of several descriptions as one list by name, each page at a cost that does not grow with how many there are. */

import type { ReadDb } from "../../db/store.ts";
import type { ImagePackageTable } from "../tables.ts";
import type { Description } from "./descriptions.ts";

export interface ListedPackage extends ImagePackageTable {
  readonly description: Description;
}

/** Of a package within the list: its name, type, version, architecture and location, then the digest that says so. */
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
    const rows = await readPage(db, description, saidBefore(descriptions, index), after, limit);
    pages.push(...rows.map((row) => ({ ...row, description })));
  }
  return pages.sort((a, b) => compareKeys(keyOf(a), keyOf(b))).slice(0, limit);
}

export function keyOf({ name, type, version, architecture, location, digest }: ImagePackageTable): PackageKey {
  return [name, type, version, architecture, location, digest];
}

/** In the order of bytes, as the database has it. */
function compareKeys(a: PackageKey, b: PackageKey): number {
  for (const [index, part] of a.entries()) {
    const order = Buffer.compare(Buffer.from(part), Buffer.from(b[index] ?? ""));
    if (order !== 0) return order;
  }
  return 0;
}

/** Whose packages an SBOM need not name again: the image's own, and those of SBOMs that come before it. */
function saidBefore(descriptions: readonly Description[], index: number): string[] {
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
      // What stands at the very place is listed there already for the digests up to the last.
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
