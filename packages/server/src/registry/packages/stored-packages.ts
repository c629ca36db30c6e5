/** Inserts and deletes rows of `image_package`, in chunks, so that other writers do not wait long. */

import type { ReadDb, Store, WriteDb } from "../../db/store.ts";
import { deleteInChunks } from "../../jobs/delete-in-chunks.ts";
import type { ImagePackageTable } from "../tables.ts";
import type { FoundPackage } from "./found-package.ts";

/** Rows per transaction. */
const CHUNK_SIZE = 2000;

/** @param assertHeld locks the row that the packages belong to, or throws */
export function removePackages(store: Store, digest: string, assertHeld: (db: WriteDb) => Promise<void>): Promise<void> {
  return deleteInChunks({ store, chunkSize: CHUNK_SIZE }, async (db, limit) => {
    await assertHeld(db);
    const last = await readKeyAt(db, digest, limit - 1);
    const { numDeletedRows } = await db
      .deleteFrom("image_package")
      .where("digest", "=", digest)
      // By a range of keys: PostgreSQL would look up each row of a list of keys.
      .$if(last !== undefined, (query) =>
        query.where(({ eb, refTuple, tuple }) => eb(refTuple(...KEY_COLUMNS), "<=", tuple(...valuesOf(last)))),
      )
      .executeTakeFirstOrThrow();
    return Number(numDeletedRows);
  });
}

const KEY_COLUMNS = ["name", "type", "version", "architecture", "location"] as const;
type PackageRowKey = Pick<ImagePackageTable, (typeof KEY_COLUMNS)[number]>;

/** The key of the package at this offset; undefined where there are fewer packages. */
function readKeyAt(db: ReadDb, digest: string, offset: number): Promise<PackageRowKey | undefined> {
  const query = db.selectFrom("image_package").select(KEY_COLUMNS).where("digest", "=", digest);
  return KEY_COLUMNS.reduce((ordered, column) => ordered.orderBy(column), query)
    .limit(1)
    .offset(offset)
    .executeTakeFirst();
}

function valuesOf(key: PackageRowKey | undefined): [string, string, string, string, string] {
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
