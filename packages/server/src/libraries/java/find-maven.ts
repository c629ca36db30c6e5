/** Finds the rows of a library that a path of the Maven layout means. */
import { setImmediate as nextTurn } from "node:timers/promises";
import { Ecosystem } from "@holt/api/gen/platform/libraries/v2/artifacts_pb.ts";
import type { ReadDb } from "../../db/store.ts";
import { type FoundFile, findFile } from "../find-file.ts";
import type { Library } from "../library.ts";
import { type MavenFile, type MavenFolder, mavenName, pathInArtifact } from "./maven-path.ts";
import type { PluginFile } from "./maven-plugins.ts";

export function findMavenFile(db: ReadDb, library: Library, file: MavenFile): Promise<FoundFile | undefined> {
  return findFile(db, library, mavenName(file), pathInArtifact(file));
}

export interface FoundVersion {
  readonly version: string;
  readonly update_time: string;
}

/** From the smallest to the greatest. Empty if there is no such artifact. */
export function findMavenVersions(
  db: ReadDb,
  { groupUid }: Library,
  artifact: Omit<MavenFolder, "version">,
): Promise<readonly FoundVersion[]> {
  return db
    .selectFrom("library_artifact as a")
    .innerJoin("library_version as v", "v.artifact_uid", "a.uid")
    .select(["v.version", "v.update_time"])
    .where("a.parent", "=", groupUid)
    .where("a.ecosystem", "=", Ecosystem.JAVA)
    .where("a.key", "=", mavenName(artifact))
    .orderBy("v.sort_key")
    .orderBy("v.uid")
    .execute();
}

export interface FoundSnapshotFile {
  readonly path: string;
  readonly create_time: string;
}

/** Files that are read without yielding to other requests. A snapshot that is built often may have tens of thousands. */
const FILES_PER_TURN = 1000;

/** By path, in chunks between which other requests run. */
export async function* findSnapshotFiles(db: ReadDb, library: Library, folder: MavenFolder): AsyncGenerator<readonly FoundSnapshotFile[]> {
  for (let after = ""; ; ) {
    const files = await findSnapshotFilesAfter(db, library, folder, after);
    if (files.length > 0) yield files;
    if (files.length < FILES_PER_TURN) return;
    after = files.at(-1)?.path ?? "";
    await nextTurn();
  }
}

function findSnapshotFilesAfter(
  db: ReadDb,
  { groupUid }: Library,
  folder: MavenFolder,
  after: string,
): Promise<readonly FoundSnapshotFile[]> {
  return db
    .selectFrom("library_artifact as a")
    .innerJoin("library_version as v", "v.artifact_uid", "a.uid")
    .innerJoin("library_file as f", "f.version_uid", "v.uid")
    .select(["f.path", "f.create_time"])
    .where("a.parent", "=", groupUid)
    .where("a.ecosystem", "=", Ecosystem.JAVA)
    .where("a.key", "=", mavenName(folder))
    .where("v.version", "=", folder.version)
    .where("f.path", ">", after)
    .orderBy("f.path")
    .limit(FILES_PER_TURN)
    .execute();
}

/** The files that make artifacts of a group plugins, the oldest first. */
export async function findPluginFiles(db: ReadDb, { groupUid }: Library, groupId: string): Promise<readonly PluginFile[]> {
  const start = mavenName({ groupId, artifactId: "" });
  const rows = await db
    .selectFrom("library_artifact as a")
    .innerJoin("library_file as f", "f.artifact_uid", "a.uid")
    .select(["a.key", "f.path", "f.metadata"])
    .where("a.parent", "=", groupUid)
    .where("a.ecosystem", "=", Ecosystem.JAVA)
    .where("a.key", ">=", start)
    // The semicolon follows the colon: this is the end of the range of all names in the group.
    .where("a.key", "<", `${groupId};`)
    .where((eb) => eb("f.plugin", "=", eb.lit(1)))
    .orderBy("f.create_time")
    .orderBy("a.key")
    .orderBy("f.path")
    .execute();
  return rows.map(({ key, path, metadata }) => ({ artifactId: key.slice(start.length), path, metadata: JSON.parse(metadata) }));
}
