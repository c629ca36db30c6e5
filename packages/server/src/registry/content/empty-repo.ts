/**
 * Takes away most of what a large repo holds before it is deleted, piece by piece: all at once, everybody else who writes would
 * wait for seconds. What is left, and the repo itself, go together in the transaction that deletes it.
 */
import { sql } from "kysely";
import { appendToCounts } from "../../db/resource-count.ts";
import type { ReadDb, Store, WriteDb } from "../../db/store.ts";

/** So many rows of a kind may stay for the end, and so many go in one transaction. */
const PIECE = 2_000;

/** Does nothing with a repo of ordinary size. A repo that is emptied stays usable; who is cut short can begin again. */
export type EmptyRepo = (repoUid: string) => Promise<void>;

interface Kind {
  readonly table: "tag" | "manifest" | "tag_history";
  /** Which of its columns holds the repo. */
  readonly repo: string;
  remove(db: WriteDb, repoUid: string, limit: number): Promise<unknown>;
}

const kinds: readonly Kind[] = [
  { table: "tag", repo: "parent", remove: removeTags },
  { table: "manifest", repo: "repo_uid", remove: removeManifests },
  { table: "tag_history", repo: "repo_uid", remove: removeHistory },
];

export function createRepoEmptying(store: Store, piece = PIECE): EmptyRepo {
  return async (repoUid) => {
    for (const kind of kinds) {
      while (await hasMore(store.reader, kind, repoUid, piece)) {
        await store.transaction(async (db) => {
          await db.dialect.forUpdate(db.selectFrom("repo").select("uid").where("uid", "=", repoUid)).execute();
          await kind.remove(db, repoUid, piece);
        });
      }
    }
  };
}

async function hasMore(db: ReadDb, { table, repo }: Kind, repoUid: string, count: number): Promise<boolean> {
  const query = sql`select 1 from ${sql.table(table)} where ${sql.ref(repo)} = ${repoUid} limit 1 offset ${count}`;
  return (await query.execute(db)).rows.length > 0;
}

async function removeTags(db: WriteDb, repoUid: string, limit: number): Promise<void> {
  const removed = await db
    .deleteFrom("tag")
    .where("uid", "in", (eb) => eb.selectFrom("tag").select("uid").where("parent", "=", repoUid).limit(limit))
    .returning(["uid", "class"])
    .execute();
  const uidsOf = (tags: typeof removed) => tags.map(({ uid }) => uid);
  await appendToCounts(db, "tag", uidsOf(removed), -1);
  const plain = removed.filter((tag) => tag.class === 0);
  if (plain.length > 0) await appendToCounts(db, "plain_tag", uidsOf(plain), -1);
}

function removeManifests(db: WriteDb, repoUid: string, limit: number): Promise<unknown> {
  return db
    .deleteFrom("manifest")
    .where("repo_uid", "=", repoUid)
    .where("digest", "in", (eb) => eb.selectFrom("manifest").select("digest").where("repo_uid", "=", repoUid).limit(limit))
    .execute();
}

function removeHistory(db: WriteDb, repoUid: string, limit: number): Promise<unknown> {
  return db
    .deleteFrom("tag_history")
    .where("seq", "in", (eb) => eb.selectFrom("tag_history").select("seq").where("repo_uid", "=", repoUid).limit(limit))
    .execute();
}
