/** How often anything below a group was written: by that, whoever keeps what is made of advisories knows that it is out of date. */
import { sql } from "kysely";
import type { ReadDb, WriteDb } from "../../db/store.ts";
import { ancestry, parentOf } from "../../lib/uid.ts";

/** In the transaction that writes the advisories, and only there. */
export async function appendToChanges(db: WriteDb, advisories: readonly string[]): Promise<void> {
  // Everybody locks in the same order, so nobody waits in a circle.
  const groups = [...new Set(advisories.flatMap((uid) => ancestry(parentOf(uid))))].sort();
  for (const group of groups) {
    await sql`insert into advisory_change (group_uid, slot, changes) values (${group}, ${db.dialect.countSlot}, 1)
      on conflict (group_uid, slot) do update set changes = advisory_change.changes + 1`.execute(db);
  }
}

export async function changesBelow(db: ReadDb, group: string): Promise<number> {
  const { rows } = await sql<{ changes: number }>`select cast(coalesce(sum(changes), 0) as bigint) as changes from advisory_change
    where group_uid = ${group}`.execute(db);
  return rows[0]?.changes ?? 0;
}
