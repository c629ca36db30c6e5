/**
 * Deletes published files. The last file of a version takes the version with it, the last version the artifact.
 * Collection removes the bytes later.
 */
import type { Ecosystem } from "@holt/api/gen/platform/libraries/v2/artifacts_pb.ts";
import type { Store, WriteDb } from "../db/store.ts";
import { notFound } from "../lib/errors.ts";
import { countArtifact } from "./artifacts-resource.ts";
import { describeRemaining, latestKeyOf } from "./describe-artifact.ts";
import type { Library } from "./library.ts";
import { appendDeleted, type ChangedFile, type LibraryChange } from "./library-event.ts";
import { dropName } from "./name-index.ts";
import { assertMayDisappear, type StoredStatus } from "./python/project-settings.ts";

/** Selects one file, or all files of a version: by exact spelling, or by sort key if the ecosystem treats spellings as equal. */
export type Removal = { readonly path: string; readonly digest?: string } | VersionRemoval;
type VersionRemoval = { readonly sortKey: string } | { readonly version: string };

export interface RemovalOptions {
  readonly store: Store;
  /** Whether a version, as it was published, is a pre-release in its ecosystem. */
  readonly isPreRelease: (version: string) => boolean;
}

/** @throws NOT_FOUND if nothing matches; FAILED_PRECONDITION for the last file of a project that must not disappear */
export function removeFiles(
  { library, key }: { readonly library: Library; readonly key: string },
  removal: Removal,
  change: LibraryChange,
  { store, isPreRelease }: RemovalOptions,
): Promise<void> {
  return store.transaction(async (db) => {
    const artifact = await lockArtifact(db, library, key);
    if (artifact === undefined) throw noSuchFiles(key, removal);
    const { uid, name } = artifact;
    const removed = "path" in removal ? await removeFile(db, uid, removal) : await removeVersions(db, uid, removal);
    if (removed.length === 0) throw noSuchFiles(key, removal);
    await describeOrRemove(db, artifact, library.ecosystem, isPreRelease);
    await appendDeleted(db, { ...library, artifactUid: uid, name }, removed, change);
  });
}

interface LockedArtifact extends StoredStatus {
  readonly uid: string;
  readonly name: string;
  readonly remediated: number;
}

/** Takes the same lock as publishing. */
async function lockArtifact(db: WriteDb, { groupUid, ecosystem }: Library, key: string): Promise<LockedArtifact | undefined> {
  const wanted = db
    .selectFrom("library_artifact")
    .select(["uid", "name", "remediated", "status", "status_reason"])
    .where("parent", "=", groupUid)
    .where("ecosystem", "=", ecosystem)
    .where("key", "=", key);
  return db.dialect.forDelete(wanted).executeTakeFirst();
}

function files(db: WriteDb) {
  return db
    .selectFrom("library_file as f")
    .innerJoin("library_version as v", "v.uid", "f.version_uid")
    .select(["f.version_uid", "v.version", "f.path", "f.digest", "f.size"]);
}

async function removeFile(
  db: WriteDb,
  uid: string,
  { path, digest }: { readonly path: string; readonly digest?: string },
): Promise<readonly ChangedFile[]> {
  const file = await files(db).where("f.artifact_uid", "=", uid).where("f.path", "=", path).executeTakeFirst();
  if (file === undefined || (digest !== undefined && file.digest !== digest)) return [];
  await db.deleteFrom("library_file").where("artifact_uid", "=", uid).where("path", "=", path).execute();
  const other = await db.selectFrom("library_file").select("path").where("version_uid", "=", file.version_uid).limit(1).executeTakeFirst();
  if (other === undefined) await db.deleteFrom("library_version").where("uid", "=", file.version_uid).execute();
  else
    await db
      .updateTable("library_version")
      .set((eb) => ({ size_bytes: eb("size_bytes", "-", file.size) }))
      .where("uid", "=", file.version_uid)
      .execute();
  return [file];
}

async function removeVersions(db: WriteDb, uid: string, removal: VersionRemoval): Promise<readonly ChangedFile[]> {
  // By version, because the artifact may have many other files.
  const all = files(db).where("v.artifact_uid", "=", uid);
  const removed = await ("version" in removal
    ? all.where("v.version", "=", removal.version)
    : all.where("v.sort_key", "=", removal.sortKey)
  )
    .orderBy("f.path")
    .execute();
  for (const versionUid of new Set(removed.map((file) => file.version_uid))) {
    await db.deleteFrom("library_file").where("version_uid", "=", versionUid).execute();
    await db.deleteFrom("library_version").where("uid", "=", versionUid).execute();
  }
  return removed;
}

/** Deletes an artifact without versions. */
async function describeOrRemove(
  db: WriteDb,
  artifact: LockedArtifact,
  ecosystem: Ecosystem,
  isPreRelease: RemovalOptions["isPreRelease"],
): Promise<void> {
  const rows = await db
    .selectFrom("library_version")
    .select(["uid", "version", "sort_key as sortKey", "remediated", "create_time"])
    .where("artifact_uid", "=", artifact.uid)
    .execute();
  if (rows.length > 0) {
    const versions = rows.map((row) => ({ ...row, latestKey: latestKeyOf({ ...row, isPreRelease: isPreRelease(row.version) }) }));
    return describeRemaining(db, { ...artifact, ecosystem }, versions);
  }
  assertMayDisappear(artifact.name, artifact);
  return removeArtifact(db, artifact, ecosystem);
}

async function removeArtifact(db: WriteDb, { uid, name, remediated }: LockedArtifact, ecosystem: Ecosystem): Promise<void> {
  await dropName(db, { uid, name, ecosystem }, remediated);
  await db.deleteFrom("library_artifact").where("uid", "=", uid).execute();
  await countArtifact(db, uid, ecosystem, -1);
}

function noSuchFiles(key: string, removal: Removal): Error {
  return "path" in removal ? notFound("File", removal.path) : notFound("Version", `of ${key}`);
}
