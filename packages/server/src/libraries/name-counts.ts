/** Maintains and reads the number of artifacts below each group by the substrings of their names. Totals of searches come from here. */
import type { Ecosystem } from "@holt/api/gen/platform/libraries/v2/artifacts_pb.ts";
import { sql } from "kysely";
import type { ResourceCount } from "../db/resource-count.ts";
import type { ReadDb, WriteDb } from "../db/store.ts";
import { ancestry, parentOf } from "../lib/uid.ts";

/** An artifact as the counts know it. */
export interface CountedName {
  readonly uid: string;
  readonly ecosystem: Ecosystem;
  /** 1 if any version is remediated. */
  readonly remediated: number;
}

/** Call in the transaction that changes the artifact. @param delta 1 for a created artifact, -1 for a deleted one */
export async function appendToNameCounts(
  db: WriteDb,
  { uid, ecosystem, remediated }: CountedName,
  parts: readonly string[],
  delta: number,
): Promise<void> {
  const { valuesOf, countSlot } = db.dialect;
  const parent = parentOf(uid);
  // All transactions lock these rows in the same order, which prevents deadlocks.
  await sql`insert into library_name_count (group_uid, gram, ecosystem, remediated, slot, below, direct)
    select above.value, part.value, ${sql.lit(ecosystem)}, ${sql.lit(remediated)}, ${countSlot}, ${sql.lit(delta)},
      case when above.value = ${parent} then ${sql.lit(delta)} else 0 end
    from ${valuesOf(ancestry(parent))} as above cross join ${valuesOf(parts)} as part where 1 = 1 order by 1, 2
    on conflict (group_uid, gram, ecosystem, remediated, slot) do update set
      below = library_name_count.below + excluded.below, direct = library_name_count.direct + excluded.direct`.execute(db);
}

export interface NameCountQuery {
  /** None of them below another. */
  readonly groups: readonly string[];
  readonly ecosystems: readonly Ecosystem[];
  /** Counts only artifacts with remediated versions. */
  readonly remediated: boolean;
}

/** The number of names that contain each part. Parts that no name contains are missing. */
export async function countNames(db: ReadDb, parts: readonly string[], query: NameCountQuery): Promise<ReadonlyMap<string, ResourceCount>> {
  const { valuesOf, lookUp } = db.dialect;
  const ecosystems = sql.join(query.ecosystems.map((ecosystem) => sql.lit(ecosystem)));
  const states = sql.raw(query.remediated ? "1" : "0, 1");
  const wanted = sql`${valuesOf(query.groups)} as above cross join ${valuesOf([...new Set(parts)])} as part`;
  const isWanted = sql<boolean>`c.group_uid = above.value and c.gram = part.value and c.ecosystem in (${ecosystems}) and c.remediated in (${states})`;
  const found = lookUp(sql`c.gram as gram, c.below as below, c.direct as direct`, wanted, sql`library_name_count as c`, isWanted);
  const { rows } = await sql<ResourceCount & { gram: string }>`select gram, cast(sum(below) as bigint) as below,
    cast(sum(direct) as bigint) as direct from (${found}) as found group by gram`.execute(db);
  return new Map(rows.map(({ gram, below, direct }) => [gram, { below: Number(below), direct: Number(direct) }]));
}
