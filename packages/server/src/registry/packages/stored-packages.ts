/** Rows of `image_package`: written and removed in pieces, so that nobody else who writes waits long. */
import type { Store, WriteDb } from "../../db/store.ts";
import type { FoundPackage } from "./found-package.ts";

/** Of one transaction. */
const PIECE = 2000;

/** @param assertHeld locks the row that the packages belong to, or throws */
export async function removePackages(store: Store, digest: string, assertHeld: (db: WriteDb) => Promise<void>): Promise<void> {
  for (let removed = PIECE; removed === PIECE; ) {
    removed = await store.transaction(async (db) => {
      await assertHeld(db);
      const query = db
        .selectFrom("image_package")
        .select(["name", "type", "version", "architecture", "location"])
        .where("digest", "=", digest);
      const some = query.limit(PIECE).$asTuple("name", "type", "version", "architecture", "location");
      const { numDeletedRows } = await db
        .deleteFrom("image_package")
        .where("digest", "=", digest)
        .where(({ eb, refTuple }) => eb(refTuple("name", "type", "version", "architecture", "location"), "in", some))
        .executeTakeFirstOrThrow();
      return Number(numDeletedRows);
    });
  }
}

const COLUMNS = {
  digest: "text",
  type: "text",
  name: "text",
  version: "text",
  architecture: "text",
  origin: "text",
  location: "text",
  source: "text",
  purl: "text",
} as const;

export async function insertPackages(db: WriteDb, digest: string, packages: readonly FoundPackage[]): Promise<void> {
  const rows = packages.map((found) => ({ digest, ...found }));
  const columns = Object.keys(COLUMNS) as (keyof typeof COLUMNS)[];
  await db
    .insertInto("image_package")
    .columns(columns)
    .expression((eb) => eb.selectFrom(db.dialect.rowsOf(rows, COLUMNS).as("r")).select(columns).where("r.digest", "=", digest))
    .onConflict((conflict) => conflict.doNothing())
    .execute();
}
