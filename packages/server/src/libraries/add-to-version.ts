/** Adds a published file to its version. */
import type { WriteDb } from "../db/store.ts";
import { newUid } from "../lib/uid.ts";
import type { PublishedVersion } from "./publication.ts";

/** Creates the version if this is its first file. @param size of the file, in bytes */
export async function addToVersion(
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
