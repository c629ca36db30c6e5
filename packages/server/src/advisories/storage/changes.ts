/** Counts the writes of advisories below each group. A cache compares the count to find out that it is out of date. */
import { sql } from "kysely";
import type { ReadDb, WriteDb } from "../../db/store.ts";
import { ancestry, parentOf } from "../../lib/uid.ts";

/** Call in the transaction that writes the advisories. @param advisories uids */
export async function appendToChanges(db: WriteDb, advisories: readonly string[]): Promise<void> {
  // All transactions lock these rows in the same order, which prevents deadlocks.
  const parents = [...new Set(advisories.map(parentOf))];
  const groups = [...new Set(parents.flatMap(ancestry))].sort();
  for (const group of groups) {
    await sql`insert into advisory_change (group_uid, slot, changes) values (${group}, ${db.dialect.countSlot}, 1)
      on conflict (group_uid, slot) do update set changes = advisory_change.changes + 1`.execute(db);
  }
}

export async function countChangesBelow(db: ReadDb, group: string): Promise<number> {
  const { rows } = await sql<{ changes: number }>`select cast(coalesce(sum(changes), 0) as bigint) as changes from advisory_change
    where group_uid = ${group}`.execute(db);
  return rows[0]?.changes ?? 0;
}
