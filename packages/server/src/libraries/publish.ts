/** Publishing: checked bytes become a file of a version of an artifact, in one transaction with everything that is told of them. What is published never changes. */
import { create } from "@bufbuild/protobuf";
import { type Artifact, ArtifactSchema, type Ecosystem } from "@holt/api/gen/platform/libraries/v2/artifacts_pb.ts";
import { assertGroupExists } from "../api/resource/write.ts";
import { linkBlob } from "../blobs/link-blob.ts";
import type { Store, WriteDb } from "../db/store.ts";
import { timestampFromDate } from "../lib/clock.ts";
import { aborted, alreadyExists, invalidArgument } from "../lib/errors.ts";
import { messageFromJson } from "../lib/proto-json.ts";
import { newUid } from "../lib/uid.ts";
import { artifacts, countArtifact } from "./artifacts-resource.ts";
import type { Library } from "./library.ts";
import { appendPublished, type LibraryChange } from "./library-event.ts";
import { indexName } from "./name-index.ts";
import type { Staged, Staging } from "./stage.ts";

export interface Publication {
  readonly library: Library;
  /** As people write it, and as the ecosystem compares it. */
  readonly name: string;
  readonly key: string;
  readonly version: PublishedVersion;
  /** Of the file, unique in its artifact. */
  readonly path: string;
  /** What the protocol wants to know of the file when it is asked for. */
  readonly metadata: Readonly<Record<string, unknown>>;
  /** Whether the file makes the artifact a plugin, which clients find by a prefix. */
  readonly isPlugin: boolean;
}

export interface PublishedVersion {
  readonly text: string;
  /** Sorts versions as the ecosystem does. */
  readonly sortKey: string;
  /** Only where there is nothing else it is the latest. */
  readonly isPreRelease: boolean;
  /** Empty where this file does not tell. */
  readonly description: string;
  readonly cudaVersion: string | undefined;
  readonly isRemediated: boolean;
}

export interface PublishDependencies {
  readonly store: Store;
  readonly staging: Staging;
}

/**
 * Durable when it resolves. The same bytes under the same name change nothing.
 * @throws ALREADY_EXISTS where the name has other bytes; INVALID_ARGUMENT where the artifact is spelled differently; NOT_FOUND where the group is gone
 */
export async function publish(
  staged: Staged,
  publication: Publication,
  change: LibraryChange,
  { store, staging }: PublishDependencies,
): Promise<"created" | "unchanged"> {
  let outcome: "created" | "unchanged" = "unchanged";
  await linkBlob(
    store,
    staged.digest,
    () => staging.place(staged),
    async (db) => {
      outcome = await record(db, staged, publication, change);
    },
  );
  return outcome;
}

async function record(
  db: WriteDb,
  staged: Staged,
  { library, name, key, version, path, metadata, isPlugin }: Publication,
  change: LibraryChange,
): Promise<"created" | "unchanged"> {
  const { now, origin } = change;
  const artifactUid = await lockArtifact(db, library, name, key, now);
  const present = await db
    .selectFrom("library_file")
    .select("digest")
    .where("artifact_uid", "=", artifactUid)
    .where("path", "=", path)
    .executeTakeFirst();
  if (present?.digest === staged.digest) return "unchanged";
  if (present !== undefined) throw otherBytes({ key: name, path });
  const { versionUid, isNew } = await addToVersion(db, artifactUid, version, staged.size, now);
  await db
    .insertInto("library_file")
    .values({
      artifact_uid: artifactUid,
      version_uid: versionUid,
      path,
      digest: staged.digest,
      size: staged.size,
      sha1: staged.sha1,
      md5: staged.md5,
      sha512: staged.sha512,
      metadata: JSON.stringify(metadata),
      create_time: now.toISOString(),
      actor: origin.actor.subject,
      plugin: isPlugin ? 1 : 0,
    })
    .execute();
  await describeArtifact(db, artifactUid, version, isNew, now);
  const { digest, size } = staged;
  await appendPublished(db, { ...library, artifactUid, name }, { version: version.text, path, digest, size }, change);
  return "created";
}

export function otherBytes({ key, path }: Pick<Publication, "key" | "path">): Error {
  return alreadyExists(
    "File",
    path,
    `${path} of ${key} was published with other bytes; what is published never changes, publish a new version`,
  );
}

/** The artifact's uid, made where there is none; its row is locked, so that what is told of all versions is right. */
async function lockArtifact(db: WriteDb, { groupUid, ecosystem }: Library, name: string, key: string, now: Date): Promise<string> {
  const find = () =>
    db.dialect
      .forUpdate(
        db
          .selectFrom("library_artifact")
          .select(["uid", "name"])
          .where("parent", "=", groupUid)
          .where("ecosystem", "=", ecosystem)
          .where("key", "=", key),
      )
      .executeTakeFirst();
  const found = await find();
  if (found !== undefined) return uidOfSameName(found, name);
  await assertGroupExists(groupUid, db);
  const uid = newUid(groupUid);
  const time = now.toISOString();
  const { numInsertedOrUpdatedRows } = await db
    .insertInto("library_artifact")
    .values({
      uid,
      parent: groupUid,
      name,
      create_time: time,
      update_time: time,
      ecosystem,
      key,
      latest_sort_key: "",
      remediated: 0,
      serial: 0,
      body: artifacts.encode(newArtifact(uid, name, ecosystem, now)),
    })
    .onConflict((conflict) => conflict.columns(["parent", "ecosystem", "key"]).doNothing())
    .executeTakeFirstOrThrow();
  if (numInsertedOrUpdatedRows === 0n) {
    // Somebody else has just made it.
    const other = await find();
    if (other === undefined) throw aborted(`${name} is being removed; try again`);
    return uidOfSameName(other, name);
  }
  await countArtifact(db, uid, ecosystem, 1);
  await indexName(db, uid, name, ecosystem);
  return uid;
}

/** One spelling for one artifact: two of them would look like two to people. */
function uidOfSameName(found: { readonly uid: string; readonly name: string }, name: string): string {
  if (found.name !== name)
    throw invalidArgument(
      "name",
      `the library has "${found.name}", which is the same name as "${name}" but for its spelling: publish under that`,
    );
  return found.uid;
}

function newArtifact(uid: string, name: string, ecosystem: Ecosystem, now: Date): Artifact {
  const time = timestampFromDate(now);
  return create(ArtifactSchema, { uid, name, ecosystem, createTime: time, updateTime: time });
}

async function addToVersion(
  db: WriteDb,
  artifactUid: string,
  version: PublishedVersion,
  size: number,
  now: Date,
): Promise<{ versionUid: string; isNew: boolean }> {
  const time = now.toISOString();
  const known = await db
    .selectFrom("library_version")
    .select(["uid", "size_bytes", "description"])
    .where("artifact_uid", "=", artifactUid)
    .where("version", "=", version.text)
    .executeTakeFirst();
  if (known !== undefined) {
    await db
      .updateTable("library_version")
      .set({ size_bytes: known.size_bytes + size, description: version.description || known.description, update_time: time })
      .where("uid", "=", known.uid)
      .execute();
    return { versionUid: known.uid, isNew: false };
  }
  const uid = newUid(artifactUid);
  await db
    .insertInto("library_version")
    .values({
      uid,
      artifact_uid: artifactUid,
      version: version.text,
      sort_key: version.sortKey,
      create_time: time,
      update_time: time,
      description: version.description,
      size_bytes: size,
      cuda_version: version.cudaVersion ?? null,
      remediated: version.isRemediated ? 1 : 0,
      yank_time: null,
      yank_reason: "",
    })
    .execute();
  return { versionUid: uid, isNew: true };
}

/** What the artifact tells of its versions. */
async function describeArtifact(db: WriteDb, uid: string, version: PublishedVersion, isNew: boolean, now: Date): Promise<void> {
  const row = await db
    .selectFrom("library_artifact")
    .select(["body", "latest_sort_key", "remediated", "serial"])
    .where("uid", "=", uid)
    .executeTakeFirstOrThrow();
  const artifact = messageFromJson(ArtifactSchema, row.body);
  const sortKey = latestKeyOf(version);
  const isLatest = sortKey >= row.latest_sort_key;
  if (isNew) {
    artifact.versionCount++;
    artifact.updateTime = timestampFromDate(now);
  }
  if (isLatest) artifact.latestVersion = version.text;
  if (isLatest && version.description !== "") artifact.description = version.description;
  await db
    .updateTable("library_artifact")
    .set({
      body: artifacts.encode(artifact),
      latest_sort_key: isLatest ? sortKey : row.latest_sort_key,
      remediated: version.isRemediated ? 1 : row.remediated,
      serial: row.serial + 1,
      ...(isNew && { update_time: now.toISOString() }),
    })
    .where("uid", "=", uid)
    .execute();
}

/** Releases come after pre-releases, whatever their numbers: who asks for the latest wants one. */
export function latestKeyOf({ sortKey, isPreRelease }: Pick<PublishedVersion, "sortKey" | "isPreRelease">): string {
  return (isPreRelease ? "0" : "1") + sortKey;
}
