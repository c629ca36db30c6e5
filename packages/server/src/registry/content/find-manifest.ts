/**
 * Finds a manifest by its tag or digest. Clients request manifests more than anything else, so this takes one query.
 */
import { isDigest } from "../../blobs/digest.ts";
import type { ReadDb } from "../../db/store.ts";

export interface StoredManifest {
  readonly digest: string;
  readonly mediaType: string;
  /** The exact bytes that were pushed. */
  readonly content: Uint8Array;
}

export async function findManifest(db: ReadDb, repoUid: string, reference: string): Promise<StoredManifest | undefined> {
  return isDigest(reference) ? findByDigest(db, repoUid, reference) : findByTag(db, repoUid, reference);
}

function findByDigest(db: ReadDb, repoUid: string, digest: string): Promise<StoredManifest | undefined> {
  return db
    .selectFrom("manifest")
    .select(["digest", "media_type as mediaType", "content"])
    .where("repo_uid", "=", repoUid)
    .where("digest", "=", digest)
    .executeTakeFirst();
}

function findByTag(db: ReadDb, repoUid: string, tag: string): Promise<StoredManifest | undefined> {
  return db
    .selectFrom("tag as t")
    .innerJoin("manifest as m", (join) => join.onRef("m.repo_uid", "=", "t.parent").onRef("m.digest", "=", "t.digest"))
    .select(["m.digest as digest", "m.media_type as mediaType", "m.content as content"])
    .where("t.parent", "=", repoUid)
    .where("t.name", "=", tag)
    .executeTakeFirst();
}
