/** Takes what was published back: files, and with the last one their version and at last the artifact. Their bytes stay until collection takes them. */
import { ArtifactSchema, type Ecosystem } from "@holt/api/gen/platform/libraries/v2/artifacts_pb.ts";
import type { Store, WriteDb } from "../db/store.ts";
import { timestampFromDate } from "../lib/clock.ts";
import { notFound } from "../lib/errors.ts";
import { messageFromJson } from "../lib/proto-json.ts";
import { artifacts, countArtifact } from "./artifacts-resource.ts";
import type { Library } from "./library.ts";
import { latestKeyOf } from "./publish.ts";

/** What is to go: one file, all files of the versions that sort alike where they are one version, or of the version that is spelled like this. */
export type Removal = { readonly path: string; readonly digest?: string } | VersionRemoval;
type VersionRemoval = { readonly sortKey: string } | { readonly version: string };

export interface RemovalOptions {
  readonly store: Store;
  /** Of a version as it was published, by the ecosystem's rules. */
  readonly isPreRelease: (version: string) => boolean;
}

/** @throws NOT_FOUND where there is nothing of that name */
export function removeFiles(library: Library, key: string, removal: Removal, { store, isPreRelease }: RemovalOptions): Promise<void> {
  return store.transaction(async (db) => {
    const uid = await lockArtifact(db, library, key);
    if (uid === undefined) throw nothing(key, removal);
    const removed = "path" in removal ? await removeFile(db, uid, removal) : await removeVersions(db, uid, removal);
    if (!removed) throw nothing(key, removal);
    await describeRest(db, uid, library.ecosystem, isPreRelease);
  });
}

/** Publishing takes the same lock. */
async function lockArtifact(db: WriteDb, { groupUid, ecosystem }: Library, key: string): Promise<string | undefined> {
  const wanted = db
    .selectFrom("library_artifact")
    .select("uid")
    .where("parent", "=", groupUid)
    .where("ecosystem", "=", ecosystem)
    .where("key", "=", key);
  return (await db.dialect.forDelete(wanted).executeTakeFirst())?.uid;
}

async function removeFile(
  db: WriteDb,
  uid: string,
  { path, digest }: { readonly path: string; readonly digest?: string },
): Promise<boolean> {
  const file = await db
    .selectFrom("library_file")
    .select(["version_uid", "size", "digest"])
    .where("artifact_uid", "=", uid)
    .where("path", "=", path)
    .executeTakeFirst();
  if (file === undefined || (digest !== undefined && file.digest !== digest)) return false;
  await db.deleteFrom("library_file").where("artifact_uid", "=", uid).where("path", "=", path).execute();
  const other = await db.selectFrom("library_file").select("path").where("version_uid", "=", file.version_uid).limit(1).executeTakeFirst();
  if (other === undefined) await db.deleteFrom("library_version").where("uid", "=", file.version_uid).execute();
  else
    await db
      .updateTable("library_version")
      .set((eb) => ({ size_bytes: eb("size_bytes", "-", file.size) }))
      .where("uid", "=", file.version_uid)
      .execute();
  return true;
}

async function removeVersions(db: WriteDb, uid: string, removal: VersionRemoval): Promise<boolean> {
  const all = db.selectFrom("library_version").select("uid").where("artifact_uid", "=", uid);
  const versions = await ("version" in removal
    ? all.where("version", "=", removal.version)
    : all.where("sort_key", "=", removal.sortKey)
  ).execute();
  for (const version of versions) {
    await db.deleteFrom("library_file").where("version_uid", "=", version.uid).execute();
    await db.deleteFrom("library_version").where("uid", "=", version.uid).execute();
  }
  return versions.length > 0;
}

/** What the artifact tells of its versions, made anew of those that are left; without any, it goes too. */
async function describeRest(db: WriteDb, uid: string, ecosystem: Ecosystem, isPreRelease: RemovalOptions["isPreRelease"]): Promise<void> {
  const versions = await db
    .selectFrom("library_version")
    .select(["uid", "version", "sort_key", "remediated", "create_time"])
    .where("artifact_uid", "=", uid)
    .execute();
  if (versions.length === 0) return removeArtifact(db, uid, ecosystem);
  const keyOf = ({ version, sort_key: sortKey }: (typeof versions)[number]) =>
    latestKeyOf({ sortKey, isPreRelease: isPreRelease(version) });
  const latest = versions.reduce((best, each) => (keyOf(each) > keyOf(best) ? each : best));
  const newest = versions.reduce((time, { create_time }) => (create_time > time ? create_time : time), "");
  const { body, serial } = await db
    .selectFrom("library_artifact")
    .select(["body", "serial"])
    .where("uid", "=", uid)
    .executeTakeFirstOrThrow();
  const { description } = await db
    .selectFrom("library_version")
    .select("description")
    .where("uid", "=", latest.uid)
    .executeTakeFirstOrThrow();
  const artifact = messageFromJson(ArtifactSchema, body);
  artifact.latestVersion = latest.version;
  artifact.versionCount = versions.length;
  artifact.description = description;
  artifact.updateTime = timestampFromDate(new Date(newest));
  await db
    .updateTable("library_artifact")
    .set({
      body: artifacts.encode(artifact),
      latest_sort_key: keyOf(latest),
      remediated: versions.some(({ remediated }) => remediated === 1) ? 1 : 0,
      serial: serial + 1,
      update_time: newest,
    })
    .where("uid", "=", uid)
    .execute();
}

async function removeArtifact(db: WriteDb, uid: string, ecosystem: Ecosystem): Promise<void> {
  await db.deleteFrom("library_artifact").where("uid", "=", uid).execute();
  await countArtifact(db, uid, ecosystem, -1);
}

function nothing(key: string, removal: Removal): Error {
  return "path" in removal ? notFound("File", removal.path) : notFound("Version", `of ${key}`);
}
