/**
 * Appends to and reads the history of a tag's digests, oldest first. It is written in the transaction that moves the
 * tag, and outlives the tag.
 */
import type { ReadDb, WriteDb } from "../../db/store.ts";

export interface TagHistoryEntry {
  readonly repoUid: string;
  readonly tag: string;
  readonly digest: string;
  readonly now: Date;
  /** Uid of the identity that moved the tag. */
  readonly actor: string;
}

export async function appendTagHistory(db: WriteDb, { repoUid, tag, digest, now, actor }: TagHistoryEntry): Promise<void> {
  await db.insertInto("tag_history").values({ repo_uid: repoUid, tag, digest, time: now.toISOString(), actor }).execute();
}

export interface PastDigest {
  readonly time: string;
  readonly digest: string;
}

/** Entries per answer. For more, a client advances `start`. */
const MAX_HISTORY = 1000;

/** The first MAX_HISTORY entries from `start` to `end`, both inclusive. */
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
