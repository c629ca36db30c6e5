/**
 * Counts the writes of advisories below each group, and those of public vulnerability records. A cache compares the count to
 * find out that it is out of date. Times would not do: clocks of servers differ.
 */
import { sql } from "kysely";
import type { ReadDb, WriteDb } from "../../db/store.ts";
import { ancestry, parentOf } from "../../lib/uid.ts";

/** Call in the transaction that writes the advisories. @param advisories uids */
export async function appendToChanges(db: WriteDb, advisories: readonly string[]): Promise<void> {
  // All transactions lock these rows in the same order, which prevents deadlocks.
  const parents = [...new Set(advisories.map(parentOf))];
  const groups = [...new Set(parents.flatMap(ancestry))].sort();
  for (const group of groups) await increment(db, group);
}

/** Stands for the vulnerability records, which belong to no group. */
const VULNERABILITIES = "";

/** Call in the transaction that writes vulnerability records. */
export function appendToVulnerabilityChanges(db: WriteDb): Promise<void> {
  return increment(db, VULNERABILITIES);
}

export function countVulnerabilityChanges(db: ReadDb): Promise<number> {
  return countChangesBelow(db, VULNERABILITIES);
}

async function increment(db: WriteDb, group: string): Promise<void> {
  await sql`insert into advisory_change (group_uid, slot, changes) values (${group}, ${db.dialect.countSlot}, 1)
    on conflict (group_uid, slot) do update set changes = advisory_change.changes + 1`.execute(db);
}

export async function countChangesBelow(db: ReadDb, group: string): Promise<number> {
  const { rows } = await sql<{ changes: number }>`select cast(coalesce(sum(changes), 0) as bigint) as changes from advisory_change
    where group_uid = ${group}`.execute(db);
  return rows[0]?.changes ?? 0;
}
