/** Reads a manifest by its tag or digest: what registries are asked for most, so one query each. */
import { isDigest } from "../../blobs/digest.ts";
import type { ReadDb } from "../../db/store.ts";

export interface StoredManifest {
  readonly digest: string;
  readonly mediaType: string;
  /** Exactly as it was pushed. */
  readonly content: Uint8Array;
}

export async function findManifest(db: ReadDb, repoUid: string, reference: string): Promise<StoredManifest | undefined> {
  return isDigest(reference) ? byDigest(db, repoUid, reference) : byTag(db, repoUid, reference);
}

function byDigest(db: ReadDb, repoUid: string, digest: string): Promise<StoredManifest | undefined> {
  return db
    .selectFrom("manifest")
    .select(["digest", "media_type as mediaType", "content"])
    .where("repo_uid", "=", repoUid)
    .where("digest", "=", digest)
    .executeTakeFirst();
}

function byTag(db: ReadDb, repoUid: string, tag: string): Promise<StoredManifest | undefined> {
  return db
    .selectFrom("tag as t")
    .innerJoin("manifest as m", (join) => join.onRef("m.repo_uid", "=", "t.parent").onRef("m.digest", "=", "t.digest"))
    .select(["m.digest as digest", "m.media_type as mediaType", "m.content as content"])
    .where("t.parent", "=", repoUid)
    .where("t.name", "=", tag)
    .executeTakeFirst();
}
