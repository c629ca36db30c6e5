/**
 * Deletes tags, manifests and links to blobs. Content that they referred to stays readable by its digest until
 * collection deletes it after the grace period.
 */
import { sql } from "kysely";
import type { Store, WriteDb } from "../../db/store.ts";
import { deleteAllButLastChunk } from "../../jobs/delete-in-chunks.ts";
import type { EventedCall, EventNames } from "../../outbox/outbox.ts";
import { lockRepo } from "../content/lock-repo.ts";
import { appendTagDeleted, type Origin, type RegistryNames } from "../content/oci-events.ts";
import { findTagForUpdate, removeTag, touchManifests } from "../content/tags.ts";
import { OciError } from "../oci-error.ts";

export interface Deletion {
  readonly repoUid: string;
  readonly origin: Origin;
  readonly now: Date;
}

/** A deletion by a call of the API, of which the events name the actor only. */
export interface ApiDeletion extends Omit<Deletion, "origin"> {
  readonly origin: Pick<EventedCall, "actor">;
}

export interface DeletionOptions {
  readonly store: Store;
  readonly names: RegistryNames;
}

/** Distribution specification 1.1, "Deleting tags": the manifest stays. @throws OciError MANIFEST_UNKNOWN */
export function deleteTag(name: string, deletion: Deletion, { store, names }: DeletionOptions): Promise<void> {
  return store.transaction(async (db) => {
    await lockForDeletion(db, deletion.repoUid);
    const tag = await findTagForUpdate(db, deletion.repoUid, name);
    if (tag === undefined) throw new OciError("MANIFEST_UNKNOWN", `there is no tag "${name}"`);
    await removeTag(db, tag, deletion.now);
    await appendTagDeleted(db, { uid: tag.uid, origin: deletion.origin, now: deletion.now }, names);
  });
}

/** Tags that one transaction deletes, each with an event. More would let other writers wait for seconds. */
const TAGS_PER_TRANSACTION = 500;

/** "Deleting manifests": also deletes the tags of the manifest. @throws OciError MANIFEST_UNKNOWN */
export async function deleteManifest(digest: string, deletion: Deletion, options: DeletionOptions): Promise<void> {
  await untagManifest(digest, deletion, options);
  await options.store.transaction((db) => deleteManifestIn(db, digest, deletion, options.names));
}

/**
 * Deletes most tags of a manifest that has many, in transactions of their own. Call it before `deleteManifestIn`; a deletion that was
 * interrupted can be repeated. @throws OciError MANIFEST_UNKNOWN
 */
export function untagManifest(
  digest: string,
  deletion: ApiDeletion,
  { store, names }: { readonly store: Store; readonly names: EventNames },
): Promise<void> {
  const { repoUid } = deletion;
  const tags = { table: "tag", key: ["uid"], condition: sql<boolean>`parent = ${repoUid} and digest = ${digest}` };
  return deleteAllButLastChunk({ store, chunkSize: TAGS_PER_TRANSACTION }, tags, async (db, limit) => {
    await lockForDeletion(db, repoUid);
    await assertManifest(db, repoUid, digest);
    return removeTagsOf(db, { digest, limit }, deletion, names);
  });
}

/** Tags can refer to a manifest that was never pushed, and then stay. */
async function assertManifest(db: WriteDb, repoUid: string, digest: string): Promise<void> {
  const query = db.selectFrom("manifest").select("digest").where("repo_uid", "=", repoUid).where("digest", "=", digest);
  if ((await query.executeTakeFirst()) === undefined) throw manifestUnknown(digest);
}

function manifestUnknown(digest: string): OciError {
  return new OciError("MANIFEST_UNKNOWN", `there is no manifest ${digest}`);
}

/** @returns the number of deleted tags */
async function removeTagsOf(
  db: WriteDb,
  { digest, limit }: { readonly digest: string; readonly limit?: number },
  { repoUid, origin, now }: ApiDeletion,
  names: EventNames,
): Promise<number> {
  const all = db.selectFrom("tag").select(["uid", "name", "digest"]).where("parent", "=", repoUid).where("digest", "=", digest);
  const tags = await (limit === undefined ? all : all.limit(limit)).execute();
  for (const tag of tags) {
    await removeTag(db, tag, now);
    await appendTagDeleted(db, { uid: tag.uid, origin, now }, names);
  }
  return tags.length;
}

/** As `deleteManifest`, in the caller's transaction. */
export async function deleteManifestIn(db: WriteDb, digest: string, deletion: ApiDeletion, names: EventNames): Promise<void> {
  const { repoUid, now } = deletion;
  await lockForDeletion(db, repoUid);
  await removeTagsOf(db, { digest }, deletion, names);
  await touchReferences(db, repoUid, digest, now);
  const { numDeletedRows } = await db
    .deleteFrom("manifest")
    .where("repo_uid", "=", repoUid)
    .where("digest", "=", digest)
    .executeTakeFirstOrThrow();
  if (numDeletedRows === 0n) throw manifestUnknown(digest);
}

/** "Deleting blobs": from this repository. @throws OciError BLOB_UNKNOWN; UNSUPPORTED where a manifest of the repository needs it */
export function deleteBlob(digest: string, { repoUid }: Deletion, { store }: DeletionOptions): Promise<void> {
  return store.transaction(async (db) => {
    await lockForDeletion(db, repoUid);
    const user = await db
      .selectFrom("manifest_reference")
      .select("manifest_digest")
      .where("repo_uid", "=", repoUid)
      .where("digest", "=", digest)
      .where("kind", "=", "blob")
      .executeTakeFirst();
    if (user !== undefined) throw new OciError("UNSUPPORTED", `the manifest ${user.manifest_digest} needs the blob: delete that first`);
    const { numDeletedRows } = await db
      .deleteFrom("repo_blob")
      .where("repo_uid", "=", repoUid)
      .where("digest", "=", digest)
      .executeTakeFirstOrThrow();
    if (numDeletedRows === 0n) throw new OciError("BLOB_UNKNOWN", `there is no blob ${digest}`);
  });
}

/** Pushes take the same lock, so that content they rely on is not deleted meanwhile. */
async function lockForDeletion(db: WriteDb, repoUid: string): Promise<void> {
  if (!(await lockRepo(db, repoUid))) throw new OciError("NAME_UNKNOWN", "the repository was deleted");
}

/** Starts the grace period of everything that the manifest referred to, and of its referrers. */
async function touchReferences(db: WriteDb, repoUid: string, digest: string, now: Date): Promise<void> {
  const references = await db
    .selectFrom("manifest_reference")
    .select(["digest", "kind"])
    .where("repo_uid", "=", repoUid)
    .where("manifest_digest", "=", digest)
    .execute();
  // The manifest kept its referrers, too.
  const referrers = await db
    .selectFrom("manifest")
    .select("digest")
    .where("repo_uid", "=", repoUid)
    .where("subject", "=", digest)
    .execute();
  const manifests = references.filter(({ kind }) => kind === "manifest");
  await touchManifests(
    db,
    repoUid,
    [...manifests, ...referrers].map((row) => row.digest),
    now,
  );
  const blobs = references.filter(({ kind }) => kind === "blob").map((row) => row.digest);
  if (blobs.length === 0) return;
  await db
    .updateTable("repo_blob")
    .set({ touch_time: now.toISOString() })
    .where("repo_uid", "=", repoUid)
    .where("digest", "in", (eb) => eb.selectFrom(db.dialect.valuesOf(blobs).as("d")).select("d.value"))
    .execute();
}
