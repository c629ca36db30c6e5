/** Copies changed fields of sources to the repos that are synced from them, in the background. */
import { fromJsonString } from "@bufbuild/protobuf";
import { RepoSchema } from "@holt/api/gen/platform/registry/v2/repos_pb.ts";
import { save } from "../../api/resource/write.ts";
import type { Store, WriteDb } from "../../db/store.ts";
import { queuedItem, startChunkQueue } from "../../jobs/chunk-queue.ts";
import type { Worker } from "../../jobs/worker.ts";
import type { Clock } from "../../lib/clock.ts";
import type { Log } from "../../lib/log.ts";
import { repos } from "../resources.ts";
import { SHARE_LEASE_MS } from "../tables.ts";
import { inherit } from "./inherited-fields.ts";
import { mayFollow, type SyncGrants } from "./sync-right.ts";

/** Synced repos per transaction. */
export const CHUNK_SIZE = 100;

/**
 * Queues the source, in the transaction that changes its fields. Its row is locked before that of the queue, as in
 * `shareChunk`.
 * @returns whether any repo is synced from it
 */
export async function requestSharing(db: WriteDb, sourceUid: string, now: Date): Promise<boolean> {
  const follower = await db.selectFrom("repo").select("uid").where("source", "=", sourceUid).limit(1).executeTakeFirst();
  if (follower === undefined) return false;
  await db
    .insertInto("repo_share")
    .values({ source_uid: sourceUid, after: "", ...queuedItem(now) })
    // A copying that is under way begins again.
    .onConflict((conflict) => conflict.column("source_uid").doUpdateSet({ after: "" }))
    .execute();
  return true;
}

export interface SharingOptions {
  readonly store: Store;
  readonly clock: Clock;
  readonly grants: SyncGrants;
  readonly log: Log;
}

export function startSharing({ store, clock, grants, log }: SharingOptions): Worker<string> {
  return startChunkQueue({
    name: "copying fields to synced repos",
    store,
    clock,
    log,
    table: "repo_share",
    key: "source_uid",
    leaseMs: SHARE_LEASE_MS,
    async runChunk(db, sourceUid, lockItem) {
      const source = await db.dialect.forShare(db.selectFrom("repo").select("body").where("uid", "=", sourceUid)).executeTakeFirst();
      await lockItem();
      return shareChunk(db, { sourceUid, body: source?.body, now: clock.now() }, grants);
    },
  });
}

interface SharedSource {
  readonly sourceUid: string;
  /** Undefined if the source was deleted. */
  readonly body: string | undefined;
  readonly now: Date;
}

async function shareChunk(db: WriteDb, { sourceUid, body, now }: SharedSource, grants: SyncGrants): Promise<boolean> {
  const followers = body === undefined ? [] : await nextFollowers(db, sourceUid);
  for (const follower of followers) {
    if (body === undefined || !(await mayFollow({ ...follower, source: sourceUid }, grants))) continue;
    const current = fromJsonString(RepoSchema, follower.body);
    const next = fromJsonString(RepoSchema, follower.body);
    inherit(next, fromJsonString(RepoSchema, body));
    const writing = { now, db, changed: true };
    await save(repos, { current, next }, writing);
    if (writing.changed) await requestSharing(db, follower.uid, now);
  }
  const last = followers.at(-1);
  const hasMore = followers.length === CHUNK_SIZE && last !== undefined;
  if (hasMore) await db.updateTable("repo_share").set({ after: last.uid }).where("source_uid", "=", sourceUid).execute();
  else await db.deleteFrom("repo_share").where("source_uid", "=", sourceUid).execute();
  return hasMore;
}

async function nextFollowers(db: WriteDb, sourceUid: string) {
  const { after } = await db.selectFrom("repo_share").select("after").where("source_uid", "=", sourceUid).executeTakeFirstOrThrow();
  const query = db.selectFrom("repo").select(["uid", "body", "source_by"]).where("source", "=", sourceUid).where("uid", ">", after);
  return db.dialect.forUpdate(query.orderBy("uid").limit(CHUNK_SIZE)).execute();
}
