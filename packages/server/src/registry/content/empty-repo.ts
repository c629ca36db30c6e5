/**
 * Deletes most of the content of a large repo in chunks, before the repo itself is deleted. The transaction that
 * deletes the repo deletes the rest.
 */
import { sql } from "kysely";
import { appendToCounts } from "../../db/resource-count.ts";
import type { Store, WriteDb } from "../../db/store.ts";
import { deleteAllButLastChunk, deleteRows, type Rows } from "../../jobs/delete-in-chunks.ts";
import { lockRepo } from "./lock-repo.ts";

/** Rows of a kind per transaction, and those that are left for the last one. */
const CHUNK_SIZE = 2_000;

/** Does nothing with a repo of ordinary size. The repo stays usable, and emptying it can be repeated if it was interrupted. */
export type EmptyRepo = (repoUid: string) => Promise<void>;

export function createRepoEmptying(store: Store, chunkSize = CHUNK_SIZE): EmptyRepo {
  return async (repoUid) => {
    const contents: readonly Rows[] = [
      { table: "tag", key: ["uid"], condition: sql<boolean>`parent = ${repoUid}` },
      { table: "manifest", key: ["repo_uid", "digest"], condition: sql<boolean>`repo_uid = ${repoUid}` },
      { table: "tag_history", key: ["seq"], condition: sql<boolean>`repo_uid = ${repoUid}` },
    ];
    for (const rows of contents)
      await deleteAllButLastChunk({ store, chunkSize }, rows, async (db, limit) => {
        await lockRepo(db, repoUid);
        return rows.table === "tag" ? deleteTags(db, repoUid, limit) : deleteRows(db, rows, limit);
      });
  };
}

async function deleteTags(db: WriteDb, repoUid: string, limit: number): Promise<number> {
  const deleted = await db
    .deleteFrom("tag")
    .where("uid", "in", (eb) => eb.selectFrom("tag").select("uid").where("parent", "=", repoUid).limit(limit))
    .returning(["uid", "class"])
    .execute();
  const uidsOf = (tags: typeof deleted) => tags.map(({ uid }) => uid);
  await appendToCounts(db, "tag", uidsOf(deleted), -1);
  const plain = deleted.filter((tag) => tag.class === 0);
  if (plain.length > 0) await appendToCounts(db, "plain_tag", uidsOf(plain), -1);
  return deleted.length;
}
