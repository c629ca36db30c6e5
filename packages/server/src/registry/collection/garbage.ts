/**
 * Finds content that nothing needs any more. Only reads, a bounded number of rows at a time. The rules:
 * - A manifest is needed if it is tagged or was touched within the grace period, if a needed index lists it, or if it
 *   refers to a needed manifest, as a signature does.
 * - A link of a repo to a blob is needed if a manifest of the repo lists the blob, or if the link was touched within
 *   the grace period.
 * - A blob is needed if a repo links it, or if another domain refers to it (blobs/references.ts).
 */
import { sql } from "kysely";
import { type BlobReference, countReferences, isReferenced } from "../../blobs/references.ts";
import type { ReadDb } from "../../db/store.ts";

export interface Content {
  readonly repoUid: string;
  readonly digest: string;
}

export interface Batch<T> {
  readonly found: readonly T[];
  /** Where the next batch begins; undefined after the last. */
  readonly next: string | undefined;
}

/** The keys that one query looks at. */
export interface KeyRange {
  /** The key before the first one. */
  readonly after: string;
  readonly limit: number;
}

/** The position before all keys. */
export const START = "";
/** The grace period of content that was touched at this time or before has ended. */
export type Cutoff = string;

/** Manifests that neither a tag nor a recent touch keeps, in the order of their keys. `garbageAmong` decides whether they are garbage. */
export async function findLooseManifests(db: ReadDb, cutoff: Cutoff, { after, limit }: KeyRange): Promise<Batch<Content>> {
  const isTagged = (digest: string) =>
    sql`(select 1 from tag t where t.parent = m.repo_uid and t.digest = ${sql.ref(digest)} limit 1) is not null`;
  const { rows } = await sql<Key & { kept: unknown }>`
    select m.repo_uid, m.digest, m.touch_time > ${cutoff} or ${isTagged("m.digest")} or (m.subject is not null and ${isTagged("m.subject")})
      or (select 1 from manifest_reference r join tag t on t.parent = r.repo_uid and t.digest = r.manifest_digest
        where r.repo_uid = m.repo_uid and r.digest = m.digest limit 1) is not null as kept
    from (${batchOfTable("manifest", ["touch_time", "subject"], after, limit)}) m order by m.repo_uid, m.digest`.execute(db);
  return batchOf(rows, limit, (row) => !row.kept);
}

/**
 * The garbage among these manifests of a repo, and the garbage among the manifests that hold them. A manifest is
 * returned only together with all its holders, so no index is left that lists a deleted manifest.
 */
export async function garbageAmong(db: ReadDb, repoUid: string, digests: readonly string[], cutoff: Cutoff): Promise<readonly string[]> {
  /** Digest of a holder → the digests that it holds. */
  const heldBy = new Map<string, string[]>();
  const known = new Set<string>();
  const needed: string[] = [];
  for (let frontier = [...digests]; frontier.length > 0; ) {
    const found = await readManifests(db, repoUid, frontier, cutoff);
    for (const { digest, needed: isNeeded } of found) {
      known.add(digest);
      if (isNeeded) needed.push(digest);
    }
    const open = found.filter((manifest) => !manifest.needed).map(({ digest }) => digest);
    const next = new Set<string>();
    for (const { holder, held } of await readHolders(db, repoUid, open)) {
      heldBy.set(holder, [...(heldBy.get(holder) ?? []), held]);
      if (!known.has(holder)) next.add(holder);
    }
    frontier = [...next];
  }
  for (let digest = needed.pop(); digest !== undefined; digest = needed.pop()) {
    known.delete(digest);
    needed.push(...(heldBy.get(digest) ?? []).filter((held) => known.has(held)));
  }
  return [...known];
}

/** Returns the manifests that exist. */
async function readManifests(
  db: ReadDb,
  repoUid: string,
  digests: readonly string[],
  cutoff: Cutoff,
): Promise<{ digest: string; needed: boolean }[]> {
  const { rows } = await sql<{ digest: string; needed: unknown }>`
    select m.digest, m.touch_time > ${cutoff} or exists (select 1 from tag t where t.parent = m.repo_uid and t.digest = m.digest) as needed
    from manifest m where m.repo_uid = ${repoUid} and m.digest in (select value from ${db.dialect.valuesOf(digests)} v)`.execute(db);
  return rows.map(({ digest, needed }) => ({ digest, needed: Boolean(needed) }));
}

async function readHolders(db: ReadDb, repoUid: string, digests: readonly string[]): Promise<{ holder: string; held: string }[]> {
  if (digests.length === 0) return [];
  const wanted = sql`select value from ${db.dialect.valuesOf(digests)} v`;
  const { rows } = await sql<{ holder: string; held: string }>`
    select r.manifest_digest as holder, r.digest as held from manifest_reference r where r.repo_uid = ${repoUid} and r.digest in (${wanted})
    union all
    select m.subject as holder, m.digest as held from manifest m where m.repo_uid = ${repoUid} and m.subject is not null and m.digest in (${wanted})`.execute(
    db,
  );
  return rows;
}

/** Links that no manifest needs. @param isGone in a dry run, which manifests count as deleted */
export async function findUnusedLinks(
  db: ReadDb,
  cutoff: Cutoff,
  { after, limit }: KeyRange,
  isGone: ((manifest: Content) => boolean) | undefined,
): Promise<Batch<Content>> {
  const { rows } = await sql<Key & { old: unknown; used: unknown }>`
    select l.repo_uid, l.digest, l.touch_time <= ${cutoff} as old,
      (select 1 from manifest_reference r where r.repo_uid = l.repo_uid and r.digest = l.digest limit 1) is not null as used
    from (${batchOfTable("repo_blob", ["touch_time"], after, limit)}) l order by l.repo_uid, l.digest`.execute(db);
  const freed = new Set<string>();
  for (const row of rows) if (isGone !== undefined && row.old && row.used && (await isFreed(db, row, isGone))) freed.add(keyOf(row));
  return batchOf(rows, limit, (row) => Boolean(row.old) && (!row.used || freed.has(keyOf(row))));
}

async function isFreed(db: ReadDb, { repo_uid, digest }: Key, isGone: (manifest: Content) => boolean): Promise<boolean> {
  const users = await db
    .selectFrom("manifest_reference")
    .select("manifest_digest")
    .where("repo_uid", "=", repo_uid)
    .where("digest", "=", digest)
    .execute();
  return users.every((user) => isGone({ repoUid: repo_uid, digest: user.manifest_digest }));
}

/** Blobs that nothing refers to. @param goneLinks in a dry run, the number of links of a digest that count as deleted */
export async function findUnlinkedBlobs(
  db: ReadDb,
  references: readonly BlobReference[],
  { after, limit }: KeyRange,
  goneLinks: ReadonlyMap<string, number> | undefined,
): Promise<Batch<{ readonly digest: string; readonly size: number }>> {
  const { rows } = await sql<{ digest: string; size: number; linked: unknown }>`
    select b.digest, b.size, ${isReferenced(references, sql.ref("b.digest"))} as linked
    from (select digest, size from blob where digest > ${after} order by digest limit ${limit}) b order by b.digest`.execute(db);
  const freed = new Set<string>();
  for (const { digest } of rows) {
    const gone = goneLinks?.get(digest);
    if (gone !== undefined && (await countReferences(db, references, digest)) === gone) freed.add(digest);
  }
  const found = rows.filter(({ digest, linked }) => !linked || freed.has(digest)).map(({ digest, size }) => ({ digest, size }));
  return { found, next: rows.length < limit ? undefined : rows.at(-1)?.digest };
}

/** The digests among these that are not in the database. */
export async function findUnknownBlobs(db: ReadDb, digests: readonly string[]): Promise<readonly string[]> {
  const rows = await db
    .selectFrom("blob")
    .select("digest")
    .where("digest", "in", (eb) => eb.selectFrom(db.dialect.valuesOf(digests).as("d")).select("d.value"))
    .execute();
  const known = new Set(rows.map(({ digest }) => digest));
  return digests.filter((digest) => !known.has(digest));
}

/**
 * Limits the rows before other tables are asked about them, and those are asked with `limit 1` instead of `exists`:
 * otherwise PostgreSQL reads whole tables.
 */
function batchOfTable(table: "manifest" | "repo_blob", columns: readonly string[], after: string, limit: number) {
  return sql`select repo_uid, digest, ${sql.join(columns.map((column) => sql.ref(column)))} from ${sql.table(table)}
    where (repo_uid, digest) > (${repoOf(after)}, ${digestOfKey(after)}) order by repo_uid, digest limit ${limit}`;
}

interface Key {
  readonly repo_uid: string;
  readonly digest: string;
}

/** Neither uids nor digests contain spaces. */
function keyOf({ repo_uid, digest }: Key): string {
  return `${repo_uid} ${digest}`;
}

function repoOf(key: string): string {
  return key.split(" ")[0] ?? "";
}

function digestOfKey(key: string): string {
  return key.split(" ")[1] ?? "";
}

function batchOf<Row extends Key>(rows: readonly Row[], limit: number, isFound: (row: Row) => boolean): Batch<Content> {
  const last = rows.at(-1);
  return {
    found: rows.filter(isFound).map(({ repo_uid, digest }) => ({ repoUid: repo_uid, digest })),
    next: rows.length < limit || last === undefined ? undefined : keyOf(last),
  };
}
