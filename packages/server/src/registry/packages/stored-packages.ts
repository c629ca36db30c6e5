/** Rows of `image_package`: written and removed in pieces, so that nobody else who writes waits long. */

import type { ReadDb, Store, WriteDb } from "../../db/store.ts";
import type { ImagePackageTable } from "../tables.ts";
import type { FoundPackage } from "./found-package.ts";

/** Of one transaction. */
const PIECE = 2000;

/** @param assertHeld locks the row that the packages belong to, or throws */
export async function removePackages(store: Store, digest: string, assertHeld: (db: WriteDb) => Promise<void>): Promise<void> {
  for (let isMore = true; isMore; ) {
    isMore = await store.transaction(async (db) => {
      await assertHeld(db);
      const last = await keyAt(db, digest, PIECE - 1);
      await db
        .deleteFrom("image_package")
        .where("digest", "=", digest)
        // By a range of keys: PostgreSQL looks a list of rows up once for each row.
        .$if(last !== undefined, (query) => query.where(({ eb, refTuple, tuple }) => eb(refTuple(...KEY), "<=", tuple(...valuesOf(last)))))
        .execute();
      return last !== undefined;
    });
  }
}

const KEY = ["name", "type", "version", "architecture", "location"] as const;
type Key = Pick<ImagePackageTable, (typeof KEY)[number]>;

/** Of the package that has so many before it; undefined where there are not as many. */
function keyAt(db: ReadDb, digest: string, offset: number): Promise<Key | undefined> {
  const query = db.selectFrom("image_package").select(KEY).where("digest", "=", digest);
  return KEY.reduce((ordered, column) => ordered.orderBy(column), query)
    .limit(1)
    .offset(offset)
    .executeTakeFirst();
}

function valuesOf(key: Key | undefined): [string, string, string, string, string] {
  return [key?.name ?? "", key?.type ?? "", key?.version ?? "", key?.architecture ?? "", key?.location ?? ""];
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
