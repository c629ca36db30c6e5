/**
 * Finds a manifest by its tag or digest. Clients request manifests more than anything else, so this takes one query.
 */
import { isDigest } from "../../blobs/digest.ts";
import type { BlobStore } from "../../blobs/store.ts";
import { prepare } from "../../db/prepared.ts";
import type { ReadDb, Store } from "../../db/store.ts";

export interface StoredManifest {
  readonly digest: string;
  readonly mediaType: string;
  /** The exact bytes that were pushed. */
  readonly content: Uint8Array;
  /** Start of the grace period before collection. */
  readonly touchTime: string;
}

interface Place {
  readonly repoUid: string;
  /** A tag or a digest. */
  readonly reference: string;
}

export async function findManifest(db: ReadDb, repoUid: string, reference: string): Promise<StoredManifest | undefined> {
  return (isDigest(reference) ? byDigest : byTag).first(db, { repoUid, reference });
}

const byDigest = prepare<Place, StoredManifest>((db, param) =>
  db
    .selectFrom("manifest")
    .select(["digest", "media_type as mediaType", "content", "touch_time as touchTime"])
    .where("repo_uid", "=", param("repoUid"))
    .where("digest", "=", param("reference"))
    .compile(),
);

const byTag = prepare<Place, StoredManifest>((db, param) =>
  db
    .selectFrom("tag as t")
    .innerJoin("manifest as m", (join) => join.onRef("m.repo_uid", "=", "t.parent").onRef("m.digest", "=", "t.digest"))
    .select(["m.digest as digest", "m.media_type as mediaType", "m.content as content", "m.touch_time as touchTime"])
    .where("t.parent", "=", param("repoUid"))
    .where("t.name", "=", param("reference"))
    .compile(),
);

/** Whether a config or layer of the manifest has lost its bytes. Layers that the repo never had do not count. */
export async function hasLostBytes(repoUid: string, digest: string, parts: { store: Store; blobs: BlobStore }): Promise<boolean> {
  const { store, blobs } = parts;
  const needed = await store.reader
    .selectFrom("manifest_reference as r")
    .innerJoin("repo_blob as l", (join) => join.onRef("l.repo_uid", "=", "r.repo_uid").onRef("l.digest", "=", "r.digest"))
    .innerJoin("blob as b", "b.digest", "l.digest")
    .select(["b.digest as digest", "b.size as size"])
    .where("r.repo_uid", "=", repoUid)
    .where("r.manifest_digest", "=", digest)
    .where("r.kind", "=", "blob")
    .execute();
  for (const blob of needed) if (await blobs.hasLost(blob.digest, blob.size)) return true;
  return false;
}
