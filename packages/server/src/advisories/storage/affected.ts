/** Stores the affected versions of advisories, as imported records list them. */
import type { ReadDb, WriteDb } from "../../db/store.ts";
import type { AdvisoryAffectedTable } from "../tables.ts";
import { insertRows } from "./insert-rows.ts";
import { requestMatchingOf } from "./match-requests.ts";

export type StoredAffected = AdvisoryAffectedTable;

export async function readAffected(db: ReadDb, uids: readonly string[]): Promise<ReadonlyMap<string, StoredAffected>> {
  if (uids.length === 0) return new Map();
  const wanted = db.selectFrom(db.dialect.valuesOf(uids).as("v")).select("v.value");
  const rows = await db.selectFrom("advisory_affected").selectAll().where("advisory_uid", "in", wanted).execute();
  return new Map(rows.map((row) => [row.advisory_uid, row]));
}

/**
 * Call after the advisories are stored, in the same transaction.
 * @param stored uids of the advisories that the transaction has stored, which requested their comparison
 */
export async function storeAffected(db: WriteDb, rows: readonly StoredAffected[], stored: ReadonlySet<string>): Promise<void> {
  await insertRows(db, "advisory_affected", ["advisory_uid"], rows);
  await requestMatchingOf(
    db,
    rows.flatMap(({ advisory_uid }) => (stored.has(advisory_uid) ? [] : [advisory_uid])),
  );
}
