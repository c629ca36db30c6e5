/**
 * Writes tags for pushes and for the management API: the row, the count of plain tags and the history. The caller
 * appends the event.
 */
import { create as createMessage } from "@bufbuild/protobuf";
import { type Tag, TagSchema } from "@holt/api/gen/platform/registry/v2/tags_pb.ts";
import { insert, remove } from "../../api/resource/write.ts";
import { appendToCount } from "../../db/resource-count.ts";
import type { WriteDb } from "../../db/store.ts";
import { timestampFromDate } from "../../lib/clock.ts";
import { messageFromJson } from "../../lib/proto-json.ts";
import { newUid, parentOf } from "../../lib/uid.ts";
import { classOf, tags } from "../resources.ts";
import { appendTagHistory } from "./tag-history.ts";

/** Fields that are set together with the digest. Omitted fields keep their value. */
export type TagFields = Partial<Pick<Tag, "deprecated" | "bundles">>;

export interface TagUpsert {
  readonly tag: Tag;
  /** The tag's previous digest; undefined for a new tag. */
  readonly previous: string | undefined;
  /** False if the tag was already as requested, and nothing was written. */
  readonly changed: boolean;
}

export interface TagWrite {
  readonly repoUid: string;
  readonly name: string;
  readonly digest: string;
  readonly fields?: TagFields;
  readonly now: Date;
  /** Uid of the identity that moves the tag. */
  readonly actor: string;
}

/**
 * Creates the tag, or moves it to the digest. The caller holds the lock on the repo, since concurrent creations of a
 * tag would violate its unique name. The grace period of the tag's previous manifest starts again.
 */
export async function upsertTag(db: WriteDb, { repoUid, name, digest, fields = {}, now, actor }: TagWrite): Promise<TagUpsert> {
  const current = await findTagForUpdate(db, repoUid, name);
  if (current === undefined) {
    const tag = createMessage(TagSchema, { name, digest, ...fields });
    await insert(tags, newUid(repoUid), tag, { now, db });
    if (classOf(name) === 0) await appendToCount(db, "plain_tag", tag.uid, 1);
    await appendTagHistory(db, { repoUid, tag: name, digest, now, actor });
    return { tag, previous: undefined, changed: true };
  }
  const next = createMessage(TagSchema, { ...current, ...fields, digest });
  if (tags.encode(next) === tags.encode(current)) return { tag: current, previous: digest, changed: false };
  next.updateTime = timestampFromDate(now);
  await db
    .updateTable("tag")
    .set({ ...tags.columns(next), update_time: now.toISOString(), body: tags.encode(next) })
    .where("uid", "=", next.uid)
    .execute();
  if (current.digest !== digest) {
    await appendTagHistory(db, { repoUid, tag: name, digest, now, actor });
    await touchManifests(db, repoUid, [current.digest], now);
  }
  return { tag: next, previous: current.digest, changed: true };
}

/** Deletes the tag but not its history. @throws NOT_FOUND */
export async function removeTag(
  db: WriteDb,
  tag: { readonly uid: string; readonly name: string; readonly digest: string },
  now: Date,
): Promise<void> {
  await remove(tags, tag.uid, db);
  if (classOf(tag.name) === 0) await appendToCount(db, "plain_tag", tag.uid, -1);
  await touchManifests(db, parentOf(tag.uid), [tag.digest], now);
}

/** Starts the grace period of manifests that lost a reference. */
export async function touchManifests(db: WriteDb, repoUid: string, digests: readonly string[], now: Date): Promise<void> {
  if (digests.length === 0) return;
  await db
    .updateTable("manifest")
    .set({ touch_time: now.toISOString() })
    .where("repo_uid", "=", repoUid)
    .where("digest", "in", (eb) => eb.selectFrom(db.dialect.valuesOf(digests).as("d")).select("d.value"))
    .execute();
}

export async function findTagForUpdate(db: WriteDb, repoUid: string, name: string): Promise<Tag | undefined> {
  const query = db.selectFrom("tag").select("body").where("parent", "=", repoUid).where("name", "=", name);
  const row = await db.dialect.forUpdate(query).executeTakeFirst();
  return row === undefined ? undefined : messageFromJson(TagSchema, row.body);
}
