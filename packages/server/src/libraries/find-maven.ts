/** What a library has at a place of the Maven layout. */
import { Ecosystem } from "@holt/api/gen/platform/libraries/v2/artifacts_pb.ts";
import type { ReadDb } from "../db/store.ts";
import type { Library } from "./library.ts";
import { type Algorithm, type MavenFile, type MavenFolder, mavenName, pathInArtifact } from "./maven-path.ts";

export interface FoundMavenFile {
  /** `sha256:<hex>`. */
  readonly digest: string;
  readonly size: number;
  readonly sha1: string;
  readonly md5: string;
  readonly sha512: string;
  readonly create_time: string;
}

export function findMavenFile(db: ReadDb, { groupUid }: Library, file: MavenFile): Promise<FoundMavenFile | undefined> {
  return db
    .selectFrom("library_artifact as a")
    .innerJoin("library_file as f", "f.artifact_uid", "a.uid")
    .select(["f.digest", "f.size", "f.sha1", "f.md5", "f.sha512", "f.create_time"])
    .where("a.parent", "=", groupUid)
    .where("a.ecosystem", "=", Ecosystem.JAVA)
    .where("a.key", "=", mavenName(file))
    .where("f.path", "=", pathInArtifact(file))
    .executeTakeFirst();
}

/** Hexadecimal. */
export function checksumOfFile({ digest, sha1, md5, sha512 }: Omit<FoundMavenFile, "size" | "create_time">, algorithm: Algorithm): string {
  return { sha256: digest.slice("sha256:".length), sha1, md5, sha512 }[algorithm];
}

export interface FoundVersion {
  readonly version: string;
  readonly update_time: string;
}

/** From the smallest to the greatest; none where there is no such artifact. */
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

export function findSnapshotFiles(db: ReadDb, { groupUid }: Library, folder: MavenFolder): Promise<readonly FoundSnapshotFile[]> {
  return db
    .selectFrom("library_artifact as a")
    .innerJoin("library_version as v", "v.artifact_uid", "a.uid")
    .innerJoin("library_file as f", "f.version_uid", "v.uid")
    .select(["f.path", "f.create_time"])
    .where("a.parent", "=", groupUid)
    .where("a.ecosystem", "=", Ecosystem.JAVA)
    .where("a.key", "=", mavenName(folder))
    .where("v.version", "=", folder.version)
    .orderBy("f.path")
    .execute();
}
