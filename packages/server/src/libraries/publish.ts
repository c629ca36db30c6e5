/**
 * Publishing: staged bytes become a file of a version of an artifact, in one transaction with the rows and the event that
 * describe them. Published bytes never change.
 */
import { linkBlob } from "../blobs/link-blob.ts";
import { assertStorageAllowed } from "../blobs/organization-storage.ts";
import type { BlobReference } from "../blobs/references.ts";
import type { Store, WriteDb } from "../db/store.ts";
import { alreadyExists } from "../lib/errors.ts";
import { addToVersion } from "./add-to-version.ts";
import { describePublished } from "./describe-artifact.ts";
import { appendAttested, appendPublished, type ChangedFile, type LibraryChange } from "./library-event.ts";
import { type LockedArtifact, lockOrCreateArtifact } from "./lock-artifact.ts";
import type { Publication } from "./publication.ts";
import { assertAcceptsFiles } from "./python/project-settings.ts";
import { addAttestations } from "./python/provenance.ts";
import type { Staged, Staging } from "./stage.ts";

export interface PublishDependencies {
  readonly store: Store;
  readonly staging: Staging;
  /** The columns that count for the storage of an organization. Without them the storage has no limit. */
  readonly blobReferences?: readonly BlobReference[];
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
  const { name, path } = publication;
  const artifact = await lockOrCreateArtifact(db, publication, change.now);
  const present = await db
    .selectFrom("library_file")
    .select("digest")
    .where("artifact_uid", "=", artifact.uid)
    .where("path", "=", path)
    .executeTakeFirst();
  if (present === undefined) return addFile(db, artifact, { staged, publication }, change);
  if (present.digest !== staged.digest) throw otherBytes({ key: name, path });
  return attestFile(db, artifact, { staged, publication }, change);
}

interface PublishedFile {
  readonly staged: Staged;
  readonly publication: Publication;
}

/** Adds new attestations to a file that was published before. */
async function attestFile(db: WriteDb, artifact: LockedArtifact, published: PublishedFile, change: LibraryChange): Promise<PublishOutcome> {
  const { library, name } = published.publication;
  const added = await attest(db, artifact.uid, published, change);
  if (added === 0) return "unchanged";
  assertAcceptsFiles(name, artifact);
  await bumpSerial(db, artifact.uid);
  await appendAttested(db, { ...library, artifactUid: artifact.uid, name }, changedFileOf(published), change);
  return "attested";
}

async function addFile(db: WriteDb, artifact: LockedArtifact, published: PublishedFile, change: LibraryChange): Promise<PublishOutcome> {
  const { library, name, version } = published.publication;
  const artifactUid = artifact.uid;
  assertAcceptsFiles(name, artifact);
  const { versionUid, isNew } = await addToVersion(db, artifactUid, { version, size: published.staged.size }, change.now);
  await insertFile(db, { artifactUid, versionUid }, published, change);
  await attest(db, artifactUid, published, change);
  await describePublished(db, artifactUid, { version, isNew }, change.now);
  await appendPublished(db, { ...library, artifactUid, name }, changedFileOf(published), change);
  return "created";
}

async function insertFile(
  db: WriteDb,
  { artifactUid, versionUid }: { readonly artifactUid: string; readonly versionUid: string },
  { staged, publication }: PublishedFile,
  { now, origin }: LibraryChange,
): Promise<void> {
  const { digest, size, sha1, md5, sha512 } = staged;
  const { path, metadata, isPlugin, coreMetadata = null } = publication;
  await db
    .insertInto("library_file")
    .values({
      artifact_uid: artifactUid,
      version_uid: versionUid,
      path,
      digest,
      size,
      sha1,
      md5,
      sha512,
      metadata: JSON.stringify(metadata),
      create_time: now.toISOString(),
      actor: origin.actor.subject,
      plugin: isPlugin ? 1 : 0,
      core_metadata: coreMetadata,
    })
    .execute();
}

/** @returns the number of attestations that the file did not have yet */
function attest(db: WriteDb, artifactUid: string, { publication }: PublishedFile, { origin }: LibraryChange): Promise<number> {
  const { path, attestations = [] } = publication;
  return addAttestations(db, { artifactUid, path, attestations, publisher: origin.actor.subject });
}

function changedFileOf({ staged, publication }: PublishedFile): ChangedFile {
  const { version, path } = publication;
  return { version: version.text, path, digest: staged.digest, size: staged.size };
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
