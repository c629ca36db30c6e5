/** The digests that a tag has had, oldest first. Appended in the transaction that moves the tag; outlives the tag. */
import type { ReadDb, WriteDb } from "../../db/store.ts";

export interface TagMove {
  readonly repoUid: string;
  readonly tag: string;
  readonly digest: string;
  readonly now: Date;
  /** Uid of the identity that moved it. */
  readonly actor: string;
}

export async function appendTagHistory(db: WriteDb, { repoUid, tag, digest, now, actor }: TagMove): Promise<void> {
  await db.insertInto("tag_history").values({ repo_uid: repoUid, tag, digest, time: now.toISOString(), actor }).execute();
}

export interface PastDigest {
  readonly time: string;
  readonly digest: string;
}

/** Of one answer: who wants more moves `start`. */
export const MAX_HISTORY = 1000;

/** From `start` to `end`, both included; the first MAX_HISTORY of them. */
export function readTagHistory(
  db: ReadDb,
  repoUid: string,
  tag: string,
  { start, end }: { readonly start?: Date | undefined; readonly end?: Date | undefined },
): Promise<PastDigest[]> {
  let query = db.selectFrom("tag_history").select(["time", "digest"]).where("repo_uid", "=", repoUid).where("tag", "=", tag);
  if (start !== undefined) query = query.where("time", ">=", start.toISOString());
  if (end !== undefined) query = query.where("time", "<=", end.toISOString());
  return query.orderBy("seq").limit(MAX_HISTORY).execute();
}
