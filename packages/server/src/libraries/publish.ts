/**
 * Publishing: staged bytes become a file of a version of an artifact, in one transaction with the rows and the event that
 * describe them. Published bytes never change.
 */
import { create } from "@bufbuild/protobuf";
import { PythonProject_Status } from "@holt/api/gen/holt/v1/python_projects_pb.ts";
import { type Artifact, ArtifactSchema, type Ecosystem } from "@holt/api/gen/platform/libraries/v2/artifacts_pb.ts";
import { assertGroupExists } from "../api/resource/write.ts";
import { linkBlob } from "../blobs/link-blob.ts";
import { assertStorageAllowed } from "../blobs/organization-storage.ts";
import type { BlobReference } from "../blobs/references.ts";
import type { Store, WriteDb } from "../db/store.ts";
import type { Parsers } from "../jobs/parsers.ts";
import { timestampFromDate } from "../lib/clock.ts";
import { aborted, alreadyExists, invalidArgument } from "../lib/errors.ts";
import { messageFromJson } from "../lib/proto-json.ts";
import { newUid } from "../lib/uid.ts";
import { artifacts, countArtifact } from "./artifacts-resource.ts";
import type { Library } from "./library.ts";
import { appendAttested, appendPublished, type LibraryChange } from "./library-event.ts";
import { indexName, recountName } from "./name-index.ts";
import { assertAcceptsFiles, type StoredStatus } from "./python/project-settings.ts";
import { addAttestations } from "./python/provenance.ts";
import type { Staged, Staging } from "./stage.ts";

export interface Publication {
  readonly library: Library;
  /** The name as its author writes it. */
  readonly name: string;
  /** The name as the ecosystem compares names. */
  readonly key: string;
  readonly version: PublishedVersion;
  /** The path of the file, unique in its artifact. */
  readonly path: string;
  /** Facts that the protocol serves with the file. */
  readonly metadata: Readonly<Record<string, unknown>>;
  /** The file makes its artifact a Maven plugin, which clients find by a prefix. */
  readonly isPlugin: boolean;
  /** Header fields of PKG-INFO, only of source distributions. */
  readonly coreMetadata?: string | undefined;
  /** Attestations that were uploaded with a Python file (PEP 740), as JSON texts. */
  readonly attestations?: readonly string[] | undefined;
}

export interface PublishedVersion {
  readonly text: string;
  /** Sorts versions as the ecosystem does. */
  readonly sortKey: string;
  /** A pre-release is the latest version only if there is no release. */
  readonly isPreRelease: boolean;
  /** Empty if this file has none. */
  readonly description: string;
  readonly cudaVersion: string | undefined;
  readonly isRemediated: boolean;
}

export interface PublishDependencies {
  readonly store: Store;
  readonly staging: Staging;
  /** The columns that count for the storage of an organization. Without them the storage has no limit. */
  readonly blobReferences?: readonly BlobReference[];
}

/** What a format needs to read a package, besides the bytes. */
export interface ReadingContext {
  readonly library: Library;
  readonly staging: Pick<Staging, "read" | "withFile">;
  readonly parsers: Parsers;
  /** Uid of the identity that publishes. Organizations share the threads of the parsers. */
  readonly publisher: string;
  /** Labels that mark a version in which vulnerabilities were patched. */
  readonly remediatedLabels: readonly string[];
}

/** `attested`: the file was published before, and has new attestations now. */
export type PublishOutcome = "created" | "unchanged" | "attested";

/**
 * Durable when it resolves. The same bytes at the same path change nothing, except that they can bring attestations.
 * @throws ALREADY_EXISTS if the path has other bytes; INVALID_ARGUMENT if the artifact's name is spelled differently;
 * FAILED_PRECONDITION if the project takes no files; NOT_FOUND if the group is gone
 */
export async function publish(
  staged: Staged,
  publication: Publication,
  change: LibraryChange,
  { store, staging, blobReferences = [] }: PublishDependencies,
): Promise<PublishOutcome> {
  let outcome: PublishOutcome = "unchanged";
  await linkBlob(
    store,
    staged.digest,
    () => staging.place(staged),
    async (db) => {
      outcome = await record(db, staged, publication, change);
      await assertStorageAllowed(db, publication.library.groupUid, blobReferences);
    },
  );
  return outcome;
}

async function record(db: WriteDb, staged: Staged, publication: Publication, change: LibraryChange): Promise<PublishOutcome> {
  const { library, name, version, path, metadata, isPlugin, coreMetadata = null, attestations = [] } = publication;
  const { now, origin } = change;
  const artifact = await lockArtifact(db, publication, now);
  const artifactUid = artifact.uid;
  const present = await db
    .selectFrom("library_file")
    .select("digest")
    .where("artifact_uid", "=", artifactUid)
    .where("path", "=", path)
    .executeTakeFirst();
  const file = { version: version.text, path, digest: staged.digest, size: staged.size };
  const changed = { ...library, artifactUid, name };
  if (present !== undefined && present.digest !== staged.digest) throw otherBytes({ key: name, path });
  if (present !== undefined) {
    const added = await addAttestations(db, { artifactUid, path, attestations, publisher: origin.actor.subject });
    if (added === 0) return "unchanged";
    assertAcceptsFiles(name, artifact);
    await bumpSerial(db, artifactUid);
    await appendAttested(db, changed, file, change);
    return "attested";
  }
  assertAcceptsFiles(name, artifact);
  const { versionUid, isNew } = await addToVersion(db, artifactUid, { version, size: staged.size }, now);
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
      core_metadata: coreMetadata,
    })
    .execute();
  await addAttestations(db, { artifactUid, path, attestations, publisher: origin.actor.subject });
  await describeArtifact(db, artifactUid, { version, isNew }, now);
  await appendPublished(db, changed, file, change);
  return "created";
}

async function bumpSerial(db: WriteDb, artifactUid: string): Promise<void> {
  await db
    .updateTable("library_artifact")
    .set(({ eb }) => ({ serial: eb("serial", "+", 1) }))
    .where("uid", "=", artifactUid)
    .execute();
}

export function otherBytes({ key, path }: Pick<Publication, "key" | "path">): Error {
  return alreadyExists(
    "File",
    path,
    `${path} of ${key} was published with other bytes; published files never change, so publish a new version`,
  );
}

interface LockedArtifact extends StoredStatus {
  readonly uid: string;
  readonly name: string;
}

/** Returns the artifact, created if there is none. Its row is locked, because it describes all of its versions. */
async function lockArtifact(db: WriteDb, { library, name, key }: Publication, now: Date): Promise<LockedArtifact> {
  const { groupUid, ecosystem } = library;
  const find = () =>
    db.dialect
      .forUpdate(
        db
          .selectFrom("library_artifact")
          .select(["uid", "name", "status", "status_reason"])
          .where("parent", "=", groupUid)
          .where("ecosystem", "=", ecosystem)
          .where("key", "=", key),
      )
      .executeTakeFirst();
  const found = await find();
  if (found !== undefined) return withSameName(found, name);
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
    // A concurrent publication has created it.
    const other = await find();
    if (other === undefined) throw aborted(`${name} is being removed; try again`);
    return withSameName(other, name);
  }
  await countArtifact(db, uid, ecosystem, 1);
  await indexName(db, { uid, name, ecosystem });
  return { uid, name, status: PythonProject_Status.ACTIVE, status_reason: "" };
}

/** An artifact has one spelling: two would look like two artifacts. */
function withSameName(found: LockedArtifact, name: string): LockedArtifact {
  if (found.name !== name)
    throw invalidArgument(
      "name",
      `the library has "${found.name}", the same name as "${name}" in another spelling; publish under that name`,
    );
  return found;
}

function newArtifact(uid: string, name: string, ecosystem: Ecosystem, now: Date): Artifact {
  const time = timestampFromDate(now);
  return create(ArtifactSchema, { uid, name, ecosystem, createTime: time, updateTime: time });
}

async function addToVersion(
  db: WriteDb,
  artifactUid: string,
  { version, size }: { readonly version: PublishedVersion; readonly size: number },
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

/** Updates the columns and the body of an artifact that describe its versions. */
async function describeArtifact(
  db: WriteDb,
  uid: string,
  { version, isNew }: { readonly version: PublishedVersion; readonly isNew: boolean },
  now: Date,
): Promise<void> {
  const row = await db
    .selectFrom("library_artifact")
    .select(["body", "latest_sort_key", "remediated", "serial"])
    .where("uid", "=", uid)
    .executeTakeFirstOrThrow();
  const artifact = messageFromJson(ArtifactSchema, row.body);
  const sortKey = latestKeyOf(version);
  const isLatest = sortKey >= row.latest_sort_key;
  const remediated = version.isRemediated ? 1 : row.remediated;
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
      remediated,
      serial: row.serial + 1,
      ...(isNew && { update_time: now.toISOString() }),
    })
    .where("uid", "=", uid)
    .execute();
  await recountName(db, artifact, { before: row.remediated, after: remediated });
}

/** Releases sort after pre-releases, whatever their numbers: a caller that asks for the latest version wants a release. */
export function latestKeyOf({ sortKey, isPreRelease }: Pick<PublishedVersion, "sortKey" | "isPreRelease">): string {
  return (isPreRelease ? "0" : "1") + sortKey;
}
