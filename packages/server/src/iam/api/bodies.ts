/** Reads stored resources by their uids, for answers that show the names behind uids. */
import { sql } from "kysely";
import type { ReadDb } from "../../db/store.ts";

/** One query for any number of uids; missing resources are left out. */
export async function bodiesOf<Json>(
  table: "identity" | "group" | "role",
  uids: readonly (string | undefined)[],
  db: ReadDb,
): Promise<Map<string, Json>> {
  const wanted = [...new Set(uids.filter((uid) => uid !== undefined))];
  const rows = await db
    .selectFrom(table)
    .select(["uid", "body"])
    .where(sql<boolean>`uid in (select wanted.value from ${db.dialect.valuesOf(wanted)} as wanted)`)
    .execute();
  return new Map(rows.map(({ uid, body }) => [uid, JSON.parse(body) as Json]));
}
