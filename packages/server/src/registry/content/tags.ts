/**
 * Writes tags for pushes and for the management API: the row, the count of plain tags and the history. The caller
 * appends the event. A tag without a digest names nothing yet: it has no history, and pulls do not find it.
 */
import { create as createMessage } from "@bufbuild/protobuf";
import { type Tag, TagSchema } from "@holt/api/gen/platform/registry/v2/tags_pb.ts";
import { insert, remove } from "../../api/resource/write.ts";
import { appendToCount } from "../../db/resource-count.ts";
import type { WriteDb } from "../../db/store.ts";
import { timestampFromDate } from "../../lib/clock.ts";
import { messageFromJson } from "../../lib/proto-json.ts";
import { newUid, parentOf } from "../../lib/uid.ts";
import { hasEnded } from "../end-of-life/deprecation.ts";
import { livesOf } from "../end-of-life/lives.ts";
import { classOf, tags } from "../resources.ts";
import { appendTagHistory } from "./tag-history.ts";

/** Fields that are set together with the digest. Omitted fields keep their value. */
export type TagFields = Partial<Pick<Tag, "deprecated" | "bundles">>;

export interface TagUpsert {
  /** `deprecated` is as clients see it. */
  readonly tag: Tag;
  /** The tag's previous digest; undefined for a tag that had none. */
  readonly previous: string | undefined;
  /** False if the tag was already as requested, and nothing was written. */
  readonly changed: boolean;
}

/** The time of a write to a tag, and its author. */
export interface TagWriting {
  readonly now: Date;
  /** Uid of the identity that moves the tag. */
  readonly actor: string;
}

export interface TagWrite extends TagWriting {
  readonly repoUid: string;
  readonly name: string;
  /** Undefined keeps that of an existing tag; a new tag then has none. */
  readonly digest: string | undefined;
  readonly fields?: TagFields;
}

/**
 * Creates the tag, or moves it to the digest. The caller holds the lock on the repo, since concurrent creations of a
 * tag would violate its unique name.
 */
export async function upsertTag(db: WriteDb, { repoUid, name, digest, fields = {}, ...writing }: TagWrite): Promise<TagUpsert> {
  const current = await findTagForUpdate(db, repoUid, name);
  if (current !== undefined) return changeTag(db, current, { ...fields, ...(digest !== undefined && { digest }) }, writing);
  const tag = createMessage(TagSchema, { name, digest: digest ?? "", ...fields });
  await insert(tags, newUid(repoUid), tag, { now: writing.now, db });
  if (classOf(name) === 0) await appendToCount(db, "plain_tag", tag.uid, 1);
  await appendMove(db, tag, writing);
  return { tag: await show(db, tag, writing), previous: undefined, changed: true };
}

/**
 * Changes a tag that the caller has locked, together with its repo. The name must be free. The grace period of the tag's
 * previous manifest starts again.
 */
export async function changeTag(
  db: WriteDb,
  current: Tag,
  changes: TagFields & Partial<Pick<Tag, "name" | "digest">>,
  writing: TagWriting,
): Promise<TagUpsert> {
  const previous = current.digest === "" ? undefined : current.digest;
  const next = createMessage(TagSchema, { ...current, ...changes });
  // Clients send back what they read, which is not a mark by hand.
  if (changes.deprecated && (await isEnded(db, current, writing))) next.deprecated = current.deprecated;
  if (tags.encode(next) === tags.encode(current)) return { tag: await show(db, current, writing), previous, changed: false };
  next.updateTime = timestampFromDate(writing.now);
  await db
    .updateTable("tag")
    .set({ ...tags.columns(next), name: next.name, update_time: writing.now.toISOString(), body: tags.encode(next) })
    .where("uid", "=", next.uid)
    .execute();
  const plain = Number(classOf(next.name) === 0) - Number(classOf(current.name) === 0);
  if (plain !== 0) await appendToCount(db, "plain_tag", next.uid, plain);
  if (current.digest !== next.digest || current.name !== next.name) await appendMove(db, next, writing);
  if (current.digest !== next.digest && previous !== undefined) await touchManifests(db, parentOf(next.uid), [previous], writing.now);
  return { tag: await show(db, next, writing), previous, changed: true };
}

async function appendMove(db: WriteDb, { uid, name, digest }: Tag, writing: TagWriting): Promise<void> {
  if (digest !== "") await appendTagHistory(db, { repoUid: parentOf(uid), tag: name, digest, ...writing });
}

async function isEnded(db: WriteDb, { uid }: Tag, { now }: TagWriting): Promise<boolean> {
  return hasEnded((await livesOf([uid], { db, now })).get(uid));
}

async function show(db: WriteDb, tag: Tag, writing: TagWriting): Promise<Tag> {
  return tag.deprecated || !(await isEnded(db, tag, writing)) ? tag : createMessage(TagSchema, { ...tag, deprecated: true });
}

/** Deletes the tag but not its history. @throws NOT_FOUND */
export async function removeTag(
  db: WriteDb,
  tag: { readonly uid: string; readonly name: string; readonly digest: string },
  now: Date,
): Promise<void> {
  await remove(tags, tag.uid, db);
  if (classOf(tag.name) === 0) await appendToCount(db, "plain_tag", tag.uid, -1);
  if (tag.digest !== "") await touchManifests(db, parentOf(tag.uid), [tag.digest], now);
}

/** Starts the grace period of manifests again. @returns the number of those that the repo has */
export async function touchManifests(db: WriteDb, repoUid: string, digests: readonly string[], now: Date): Promise<number> {
  if (digests.length === 0) return 0;
  const { numUpdatedRows } = await db
    .updateTable("manifest")
    .set({ touch_time: now.toISOString() })
    .where("repo_uid", "=", repoUid)
    .where("digest", "in", (eb) => eb.selectFrom(db.dialect.valuesOf(digests).as("d")).select("d.value"))
    .executeTakeFirstOrThrow();
  return Number(numUpdatedRows);
}

export async function findTagForUpdate(db: WriteDb, repoUid: string, name: string): Promise<Tag | undefined> {
  const query = db.selectFrom("tag").select("body").where("parent", "=", repoUid).where("name", "=", name);
  const row = await db.dialect.forUpdate(query).executeTakeFirst();
  return row === undefined ? undefined : messageFromJson(TagSchema, row.body);
}
