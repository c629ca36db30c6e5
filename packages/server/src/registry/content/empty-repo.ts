/**
 * Deletes most of the content of a large repo in chunks, before the repo itself is deleted. The transaction that
 * deletes the repo deletes the rest.
 */
import { sql } from "kysely";
import { appendToCounts } from "../../db/resource-count.ts";
import type { ReadDb, Store, WriteDb } from "../../db/store.ts";
import { type DeleteChunk, deleteAllButLastChunk, deleteRows, type Rows } from "../../jobs/delete-in-chunks.ts";
import { lockRepo } from "./lock-repo.ts";
import { chunkManifests } from "./manifest-chunks.ts";

/** Rows of a kind per transaction, and those that are left for the last one. */
const CHUNK_SIZE = 2_000;

/** Does nothing with a repo of ordinary size. The repo stays usable, and emptying it can be repeated if it was interrupted. */
export type EmptyRepo = (repoUid: string) => Promise<void>;

export function createRepoEmptying(store: Store, chunkSize = CHUNK_SIZE): EmptyRepo {
  return async (repoUid) => {
    const empty = (rows: Rows, deleteChunk: DeleteChunk = (db, limit) => deleteRows(db, rows, limit)) =>
      deleteAllButLastChunk({ store, chunkSize }, rows, async (db, limit) => {
        await lockRepo(db, repoUid);
        return deleteChunk(db, limit);
      });
    await empty({ table: "tag", key: ["uid"], condition: sql<boolean>`parent = ${repoUid}` }, (db, limit) =>
      deleteTags(db, repoUid, limit),
    );
    await emptyManifests(store, repoUid, chunkSize);
    // Manifests that are left, or that were pushed meanwhile, keep their blobs.
    const isUsed = sql`exists (select 1 from manifest_reference as r where r.repo_uid = repo_blob.repo_uid and r.digest = repo_blob.digest)`;
    await empty({ table: "repo_blob", key: ["repo_uid", "digest"], condition: sql<boolean>`repo_uid = ${repoUid} and not ${isUsed}` });
    await empty({ table: "tag_history", key: ["seq"], condition: sql<boolean>`repo_uid = ${repoUid}` });
  };
}

async function emptyManifests(store: Store, repoUid: string, chunkSize: number): Promise<void> {
  for (let chunks = await firstChunks(store.reader, repoUid, chunkSize); chunks.length > 1; ) {
    // The last one may be a part of a chunk.
    for (const digests of chunks.slice(0, -1)) await removeManifests(store, repoUid, digests);
    chunks = await firstChunks(store.reader, repoUid, chunkSize);
  }
}

function removeManifests(store: Store, repoUid: string, digests: readonly string[]): Promise<void> {
  return store.transaction(async (db) => {
    await lockRepo(db, repoUid);
    await db
      .deleteFrom("manifest")
      .where("repo_uid", "=", repoUid)
      .where("digest", "in", (eb) => eb.selectFrom(db.dialect.valuesOf(digests).as("d")).select("d.value"))
      .execute();
  });
}

/** Digests. One chunk if the repo has no more manifests than that. */
async function firstChunks(db: ReadDb, repoUid: string, chunkSize: number): Promise<string[][]> {
  const query = db.selectFrom("manifest").select(["digest", "size"]).where("repo_uid", "=", repoUid).orderBy("digest");
  const rows = await query.limit(chunkSize + 1).execute();
  return chunkManifests(rows, chunkSize).map((chunk) => chunk.map(({ digest }) => digest));
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
