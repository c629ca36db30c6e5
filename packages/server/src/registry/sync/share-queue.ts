/** The queue of sources whose changed fields are to be copied to the repos that are synced from them. */
import { fromJsonString } from "@bufbuild/protobuf";
import { RepoSchema } from "@holt/api/gen/platform/registry/v2/repos_pb.ts";
import { save } from "../../api/resource/write.ts";
import type { Store, WriteDb } from "../../db/store.ts";
import { createLease, type Lease, RELEASED } from "../../jobs/lease.ts";
import { LostLease } from "../../jobs/worker.ts";
import type { Clock } from "../../lib/clock.ts";
import { repos } from "../resources.ts";
import { inherit } from "./inherited-fields.ts";
import { mayFollow, type SyncGrants } from "./sync-right.ts";

const LEASE_MS = 60_000;
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
    .values({ source_uid: sourceUid, after: "", request_time: now.toISOString(), ...RELEASED })
    // A copying that is under way begins again.
    .onConflict((conflict) => conflict.column("source_uid").doUpdateSet({ after: "" }))
    .execute();
  return true;
}

export interface ShareQueue {
  readonly lease: Lease;
  /** @returns the source that waits longest; undefined for none */
  claim(): Promise<string | undefined>;
  /** Copies the fields to the next repos. @returns false after the last ones @throws LostLease */
  shareChunk(sourceUid: string): Promise<boolean>;
}

export interface ShareQueueOptions {
  readonly store: Store;
  readonly clock: Clock;
  readonly grants: SyncGrants;
}

export function createShareQueue({ store, clock, grants }: ShareQueueOptions): ShareQueue {
  const lease = createLease({ store, clock, table: "repo_share", key: "source_uid", durationMs: LEASE_MS });
  return {
    lease,
    claim: () =>
      store.transaction(async (db) => {
        const query = db.selectFrom("repo_share").select("source_uid").where(lease.isFree()).orderBy("request_time").orderBy("source_uid");
        const row = await db.dialect.forClaim(query.limit(1)).executeTakeFirst();
        return row && [...(await lease.claim(db, [row.source_uid]))][0];
      }),
    shareChunk: (sourceUid) => store.transaction((db) => shareChunk(db, sourceUid, { lease, clock, grants })),
  };
}

type ChunkContext = Pick<ShareQueueOptions, "clock" | "grants"> & { readonly lease: Lease };

async function shareChunk(db: WriteDb, sourceUid: string, { lease, clock, grants }: ChunkContext): Promise<boolean> {
  const now = clock.now();
  const source = await db.dialect.forShare(db.selectFrom("repo").select("body").where("uid", "=", sourceUid)).executeTakeFirst();
  if (!(await lease.lockHeld(db, [sourceUid])).has(sourceUid)) throw new LostLease(sourceUid);
  const followers = source === undefined ? [] : await nextFollowers(db, sourceUid);
  for (const follower of followers) {
    if (source === undefined || !(await mayFollow({ ...follower, source: sourceUid }, grants))) continue;
    const current = fromJsonString(RepoSchema, follower.body);
    const next = fromJsonString(RepoSchema, follower.body);
    inherit(next, fromJsonString(RepoSchema, source.body));
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
