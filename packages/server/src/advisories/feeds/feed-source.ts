/** Reads the data of feeds in batches: on SQLite, a statement blocks the whole process. */
import { type RawBuilder, sql } from "kysely";
import { countOf } from "../../db/resource-count.ts";
import type { ReadDb } from "../../db/store.ts";
import { ancestry, rangeAtOrBelow, rangeBelow } from "../../lib/uid.ts";
import { distributionNames, type NamedGroups } from "../export/ecosystems.ts";
import { type PublishedAdvisory, publishedAdvisory } from "../export/published-advisory.ts";
import { type Vulnerability, vulnerabilityFrom } from "../export/vulnerability.ts";
import { countChangesBelow, countVulnerabilityChanges } from "../storage/changes.ts";
import type { FeedFormat, Sibling } from "./feed-format.ts";

/** Uids, in order, of the advisories that are rendered together as one entry. */
export type Siblings = readonly string[];

const ROWS_PER_QUERY = 250;

/** All live advisories below the group, in the order of the first uid of each set. */
export async function* walkAdvisories(db: ReadDb, group: string, sibling: Sibling): AsyncIterable<readonly Siblings[]> {
  const { upper } = rangeBelow(group);
  let { lower } = rangeBelow(group);
  for (;;) {
    const batch = await db
      .selectFrom("advisory")
      .select(["uid", `${sibling} as key` as const])
      .where("uid", ">", lower)
      .where("uid", "<", upper)
      .where("delete_time", "is", null)
      .orderBy("uid")
      .limit(ROWS_PER_QUERY)
      .execute();
    if (batch.length === 0) return;
    lower = batch.at(-1)?.uid as string;
    yield await findSetsStartingIn(batch, { db, group, sibling });
  }
}

/** The sets whose first advisory is in the batch, so that each set is found once. */
async function findSetsStartingIn(
  batch: readonly { readonly uid: string; readonly key: string }[],
  { db, group, sibling }: { readonly db: ReadDb; readonly group: string; readonly sibling: Sibling },
): Promise<readonly Siblings[]> {
  if (sibling === "uid") return batch.map(({ uid }) => [uid]);
  const range = rangeBelow(group);
  const keys = [...new Set(batch.map(({ key }) => key))];
  const { rows } = await sql<{ uid: string }>`select (select min(a.uid) from advisory as a where a.${sql.ref(sibling)} = k.value
    and a.uid >= ${range.lower} and a.uid < ${range.upper} and a.delete_time is null) as uid
    from ${db.dialect.valuesOf(keys)} as k`.execute(db);
  const firstUids = new Set(rows.map(({ uid }) => uid));
  const keysOfSets = batch.filter(({ uid }) => firstUids.has(uid)).map(({ key }) => key);
  return findSiblingsByKey(db, group, sibling, keysOfSets);
}

/** The sets of live advisories that have these values in the sibling column. */
export async function findSiblingsByKey(
  db: ReadDb,
  group: string,
  sibling: Sibling,
  keys: readonly string[],
): Promise<readonly Siblings[]> {
  if (keys.length === 0) return [];
  const range = rangeBelow(group);
  const { rows } = await sql<{ key: string; uid: string }>`select k.value as key, a.uid as uid from ${db.dialect.valuesOf(keys)} as k
    join advisory as a on a.${sql.ref(sibling)} = k.value and a.uid >= ${range.lower} and a.uid < ${range.upper} and a.delete_time is null
    order by a.uid`.execute(db);
  const sets = new Map<string, string[]>();
  for (const { key, uid } of rows) {
    const set = sets.get(key);
    if (set === undefined) sets.set(key, [uid]);
    else set.push(uid);
  }
  return [...sets.values()];
}

/** The current sets of those of the advisories that are live. */
export async function findSiblings(db: ReadDb, group: string, sibling: Sibling, uids: readonly string[]): Promise<readonly Siblings[]> {
  const keys = new Set<string>();
  const live: string[] = [];
  for (let start = 0; start < uids.length; start += ROWS_PER_QUERY) {
    const rows = await db
      .selectFrom("advisory")
      .select(["uid", `${sibling} as key` as const])
      .where("uid", "in", db.selectFrom(db.dialect.valuesOf(uids.slice(start, start + ROWS_PER_QUERY)).as("v")).select("v.value"))
      .where("delete_time", "is", null)
      .execute();
    for (const { uid, key } of rows) {
      live.push(uid);
      keys.add(key);
    }
  }
  if (sibling === "uid") return live.map((uid) => [uid]);
  const sets: Siblings[] = [];
  const all = [...keys];
  for (let start = 0; start < all.length; start += ROWS_PER_QUERY) {
    sets.push(...(await findSiblingsByKey(db, group, sibling, all.slice(start, start + ROWS_PER_QUERY))));
  }
  return sets;
}

/** Those that are live and have an approved event, in the order of uids. */
export async function loadAdvisories(db: ReadDb, uids: readonly string[]): Promise<readonly PublishedAdvisory[]> {
  const advisories: PublishedAdvisory[] = [];
  for (let start = 0; start < uids.length; start += ROWS_PER_QUERY) {
    const rows = await db
      .selectFrom("advisory")
      .select("body")
      .where("uid", "in", db.selectFrom(db.dialect.valuesOf(uids.slice(start, start + ROWS_PER_QUERY)).as("v")).select("v.value"))
      .where("delete_time", "is", null)
      .orderBy("uid")
      .execute();
    for (const { body } of rows) {
      const advisory = publishedAdvisory(body);
      if (advisory !== undefined) advisories.push(advisory);
    }
  }
  return advisories;
}

export async function loadVulnerabilities(db: ReadDb, ids: readonly string[]): Promise<ReadonlyMap<string, Vulnerability>> {
  const known = new Map<string, Vulnerability>();
  for (let start = 0; start < ids.length; start += ROWS_PER_QUERY) {
    const rows = await db
      .selectFrom("vulnerability")
      .select(["id", "update_time", "body"])
      .where("id", "in", db.selectFrom(db.dialect.valuesOf(ids.slice(start, start + ROWS_PER_QUERY)).as("v")).select("v.value"))
      .execute();
    for (const { id, update_time, body } of rows) known.set(id, vulnerabilityFrom(id, update_time, body));
  }
  return known;
}

/** A token that differs after every change of the data that the format renders. */
export async function readChangeToken(
  db: ReadDb,
  group: string,
  { usesVulnerabilities }: FeedFormat,
): Promise<{ token: string; version: number }> {
  const version = await countChangesBelow(db, group);
  const { below } = await countOf(db, "advisory", group);
  const records = usesVulnerabilities ? await countVulnerabilityChanges(db) : 0;
  return { token: [version, below, records].join(" "), version };
}

export function countLive(db: ReadDb, group: string): Promise<number> {
  return countOf(db, "advisory", group).then(({ below }) => below);
}

/** An existing group and what its feeds depend on in the tree around it. */
export interface FeedGroup {
  readonly name: string;
  /** The groups that select a distribution. */
  readonly distributions: NamedGroups;
  /** Architectures of the apk packages of its advisories, sorted. */
  readonly architectures: readonly string[];
}

export async function findFeedGroup(db: ReadDb, group: string): Promise<FeedGroup | undefined> {
  const row = await db.selectFrom("group").select("name").where("uid", "=", group).executeTakeFirst();
  if (row === undefined) return undefined;
  const { lower, upper } = rangeAtOrBelow(group);
  const named = await db
    .selectFrom("group")
    .select(["uid", "name"])
    .where(({ or, and, eb }) => or([and([eb("uid", ">=", lower), eb("uid", "<", upper)]), eb("uid", "in", ancestry(group))]))
    .where("name", "in", distributionNames)
    .orderBy("uid")
    .execute();
  const architectures = await db
    .selectFrom("advisory_count")
    .select("artifact_architecture")
    .where("group_uid", "=", group)
    .where("artifact_type", "=", "apk")
    .where("artifact_architecture", "<>", "")
    .groupBy("artifact_architecture")
    .having(sql<number>`sum(below)`, ">", 0)
    .orderBy("artifact_architecture")
    .limit(100)
    .execute();
  return {
    name: row.name,
    distributions: new Map(named.map(({ uid, name }) => [uid, name])),
    architectures: architectures.map(({ artifact_architecture }) => artifact_architecture),
  };
}

export interface ChangeQuery {
  readonly group: string;
  /** RFC 3339. */
  readonly since: string;
  readonly format: FeedFormat;
  readonly limit: number;
}

/**
 * Uids of the advisories below the group that changed since then, including deleted ones and those whose vulnerability
 * record changed.
 * @returns undefined if there are more than `limit`
 */
export async function findChanges(db: ReadDb, query: ChangeQuery): Promise<ReadonlySet<string> | undefined> {
  const { group, since, format, limit } = query;
  const changed = new Set<string>();
  const { lower, upper } = rangeBelow(group);
  const uid = db.dialect.unindexed<string>("uid");
  const isOurs = sql<boolean>`${uid} >= ${lower} and ${uid} < ${upper}`;
  for (const condition of [
    sql<boolean>`delete_time is null and update_time >= ${since}`,
    sql<boolean>`delete_time is not null and delete_time >= ${since}`,
  ]) {
    const rows = await selectChanged(db, sql`${condition} and ${isOurs}`, limit);
    for (const row of rows) changed.add(row.uid);
    if (changed.size > limit) return undefined;
  }
  if (format.usesVulnerabilities && !(await addByVulnerability(db, query, changed))) return undefined;
  return changed;
}

async function selectChanged(db: ReadDb, condition: RawBuilder<unknown>, limit: number): Promise<readonly { uid: string }[]> {
  return (await sql<{ uid: string }>`select uid from advisory where ${condition} limit ${limit + 1}`.execute(db)).rows;
}

/** Adds the advisories whose vulnerability record changed. False if there are more than `limit`. */
async function addByVulnerability(db: ReadDb, { group, since, limit }: ChangeQuery, changed: Set<string>): Promise<boolean> {
  const { lower, upper } = rangeBelow(group);
  for (let after = { update_time: since, id: "" }; ; ) {
    const { rows } = await sql<{ update_time: string; id: string }>`select update_time, id from vulnerability
      where (update_time, id) > (${after.update_time}, ${after.id}) order by update_time, id limit ${ROWS_PER_QUERY}`.execute(db);
    const last = rows.at(-1);
    if (last === undefined) return true;
    after = last;
    const { rows: named } = await sql<{ uid: string }>`select al.advisory_uid as uid
      from ${db.dialect.valuesOf(rows.map(({ id }) => id))} as v join advisory_alias as al on al.alias = v.value
      where al.advisory_uid >= ${lower} and al.advisory_uid < ${upper} limit ${limit + 1}`.execute(db);
    for (const { uid } of named) changed.add(uid);
    if (changed.size > limit) return false;
  }
}
