/**
 * What nobody needs any more, by the rules of collection; reads only, a bounded number of rows at a time.
 *
 * A manifest is needed that is tagged or was touched within the grace period, that a needed index lists, or that refers to a needed manifest (a
 * signature of it). A repo needs its link to a blob that a manifest lists or that was touched within the grace period. A blob is needed that is linked,
 * or that is a file of a library.
 */
import { sql } from "kysely";
import { type BlobReference, countReferences, isReferenced } from "../../blobs/references.ts";
import type { ReadDb } from "../../db/store.ts";

export interface Content {
  readonly repoUid: string;
  readonly digest: string;
}

export interface Piece<T> {
  readonly found: readonly T[];
  /** Where the next piece begins; undefined after the last. */
  readonly next: string | undefined;
}

/** Before all others. */
export const START = "";
/** What was touched at this time or before it has had its grace period. */
export type Cutoff = string;

/** Manifests that nothing obvious keeps, in the order of their keys. Whether they are garbage, `garbageAmong` tells. */
export async function findLooseManifests(db: ReadDb, cutoff: Cutoff, after: string, limit: number): Promise<Piece<Content>> {
  const isTagged = (digest: string) =>
    sql`(select 1 from tag t where t.parent = m.repo_uid and t.digest = ${sql.ref(digest)} limit 1) is not null`;
  const { rows } = await sql<Key & { kept: unknown }>`
    select m.repo_uid, m.digest, m.touch_time > ${cutoff} or ${isTagged("m.digest")} or (m.subject is not null and ${isTagged("m.subject")})
      or (select 1 from manifest_reference r join tag t on t.parent = r.repo_uid and t.digest = r.manifest_digest
        where r.repo_uid = m.repo_uid and r.digest = m.digest limit 1) is not null as kept
    from (${pieceOfTable("manifest", ["touch_time", "subject"], after, limit)}) m order by m.repo_uid, m.digest`.execute(db);
  return pieceOf(rows, limit, (row) => !row.kept);
}

/**
 * Which of a repo's manifests, and of what holds them, are garbage: with each of them everything through which it could be reached. So when all
 * of these are deleted together, nothing is left that lists a manifest which is gone.
 */
export async function garbageAmong(db: ReadDb, repoUid: string, digests: readonly string[], cutoff: Cutoff): Promise<readonly string[]> {
  /** Digest → what it holds. */
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

/** Those that exist. */
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

/** Links that are needed by no manifest but those of which `isGone` says that they will be gone. */
export async function findUnusedLinks(
  db: ReadDb,
  cutoff: Cutoff,
  after: string,
  limit: number,
  isGone: ((manifest: Content) => boolean) | undefined,
): Promise<Piece<Content>> {
  const { rows } = await sql<Key & { old: unknown; used: unknown }>`
    select l.repo_uid, l.digest, l.touch_time <= ${cutoff} as old,
      (select 1 from manifest_reference r where r.repo_uid = l.repo_uid and r.digest = l.digest limit 1) is not null as used
    from (${pieceOfTable("repo_blob", ["touch_time"], after, limit)}) l order by l.repo_uid, l.digest`.execute(db);
  const freed = new Set<string>();
  for (const row of rows) if (isGone !== undefined && row.old && row.used && (await isFreed(db, row, isGone))) freed.add(keyOf(row));
  return pieceOf(rows, limit, (row) => Boolean(row.old) && (!row.used || freed.has(keyOf(row))));
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

/** Blobs that nothing refers to, except links of which `goneLinks` says how many of a digest will be gone. */
export async function findUnlinkedBlobs(
  db: ReadDb,
  references: readonly BlobReference[],
  { after, limit }: { readonly after: string; readonly limit: number },
  goneLinks: ReadonlyMap<string, number> | undefined,
): Promise<Piece<{ readonly digest: string; readonly size: number }>> {
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

/** Digests among these that the database does not know. */
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
 * Cut before anything else is asked of its rows, and that is asked with a limit instead of with `exists`: PostgreSQL would otherwise read whole tables
 * to have the answers for all rows at hand.
 */
function pieceOfTable(table: "manifest" | "repo_blob", columns: readonly string[], after: string, limit: number) {
  return sql`select repo_uid, digest, ${sql.join(columns.map((column) => sql.ref(column)))} from ${sql.table(table)}
    where (repo_uid, digest) > (${repoOf(after)}, ${digestOfKey(after)}) order by repo_uid, digest limit ${limit}`;
}

interface Key {
  readonly repo_uid: string;
  readonly digest: string;
}

/** Neither uids nor digests have spaces. */
function keyOf({ repo_uid, digest }: Key): string {
  return `${repo_uid} ${digest}`;
}

function repoOf(key: string): string {
  return key.split(" ")[0] ?? "";
}

function digestOfKey(key: string): string {
  return key.split(" ")[1] ?? "";
}

function pieceOf<Row extends Key>(rows: readonly Row[], limit: number, isFound: (row: Row) => boolean): Piece<Content> {
  const last = rows.at(-1);
  return {
    found: rows.filter(isFound).map(({ repo_uid, digest }) => ({ repoUid: repo_uid, digest })),
    next: rows.length < limit || last === undefined ? undefined : keyOf(last),
  };
}
