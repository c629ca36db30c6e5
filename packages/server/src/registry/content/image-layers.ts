/** Reads the layers of an image, platform by platform, from its manifests. */
import type { ReadDb } from "../../db/store.ts";
import type { Parsers } from "../../jobs/parsers.ts";
import { type FoundImage, IMAGE_COLUMNS } from "./find-images.ts";
import type { Descriptor } from "./manifest.ts";
import { manifestParser } from "./manifest-parsers.ts";

export interface PlatformLayers extends FoundImage {
  readonly layers: readonly Descriptor[];
}

const MAX_PLATFORMS = 100;
/** Layers in one answer: a platform that would exceed it has none, and neither have those after it. */
const MAX_LAYERS = 10_000;

/** The platforms of a digest. Empty for an artifact without a platform. */
export async function readImageLayers(db: ReadDb, repoUid: string, digest: string, parsers: Parsers): Promise<PlatformLayers[]> {
  const images = await db
    .selectFrom("image")
    .select(IMAGE_COLUMNS)
    .where("repo_uid", "=", repoUid)
    .where("digest", "=", digest)
    .orderBy("os")
    .orderBy("architecture")
    .orderBy("variant")
    .limit(MAX_PLATFORMS)
    .execute();
  const platforms: PlatformLayers[] = [];
  let count = 0;
  for (const image of images) {
    const layers = count > MAX_LAYERS ? [] : await layersOf(db, { repoUid, digest: image.manifest_digest }, parsers);
    count += layers.length;
    platforms.push({ ...image, layers: count > MAX_LAYERS ? [] : layers });
  }
  return platforms;
}

/** Empty if the repo lost the manifest: an index keeps the facts about it. */
async function layersOf(
  db: ReadDb,
  { repoUid, digest }: { readonly repoUid: string; readonly digest: string },
  parsers: Parsers,
): Promise<readonly Descriptor[]> {
  const row = await db
    .selectFrom("manifest")
    .select(["content", "media_type"])
    .where("repo_uid", "=", repoUid)
    .where("digest", "=", digest)
    .executeTakeFirst();
  if (row === undefined) return [];
  const read = await parsers.run(manifestParser, { content: row.content, contentType: row.media_type }, repoUid);
  return "manifest" in read ? read.manifest.layers : [];
}
