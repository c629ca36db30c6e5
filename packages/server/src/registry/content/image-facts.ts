/** Records the platforms of an image and its size per platform, as far as manifests and configs tell. */

import type { ReadDb, WriteDb } from "../../db/store.ts";
import type { ImageTable } from "../tables.ts";
import type { Manifest, Platform } from "./manifest.ts";

/** Limit of a config that is read. A larger blob is not an image's config. */
export const MAX_CONFIG_BYTES = 1024 * 1024;
const ROWS_PER_STATEMENT = 100;
/** Indexes that contain a manifest, directly or through other indexes. Ordinary images have few. */
const MAX_INDEXES = 1000;

/** The platform in the config of an image; undefined if the blob is not such a config. */
export function platformOfConfig(content: Uint8Array): Platform | undefined {
  try {
    const { architecture, os, variant = "" } = JSON.parse(Buffer.from(content).toString("utf8")) as Record<string, unknown>;
    if (typeof architecture !== "string" || architecture === "" || typeof os !== "string" || typeof variant !== "string") return undefined;
    if ([architecture, os, variant].some((text) => text.includes("\0"))) return undefined;
    return isUnknown(architecture) ? undefined : { architecture, os, variant };
  } catch {
    return undefined;
  }
}

/** Builders attach attestations to an index as images of the platform `unknown`. */
function isUnknown(architecture: string): boolean {
  return architecture === "unknown";
}

/** The facts about an image, without the key of the row. */
type ImageFacts = Omit<ImageTable, "repo_uid" | "digest">;

export interface StoredImage {
  readonly repoUid: string;
  readonly digest: string;
  readonly manifest: Manifest;
  /** From the config; undefined for an index, or if the config does not say. */
  readonly platform: Platform | undefined;
}

/**
 * Records the facts about a manifest that was just stored, for itself and for all indexes that contain it: an index may
 * be pushed before its children.
 */
export async function recordImageFacts(db: WriteDb, { repoUid, digest, manifest, platform }: StoredImage): Promise<void> {
  const facts = manifest.kind === "index" ? await readFactsOfChildren(db, repoUid, digest) : factsOf(digest, manifest, platform);
  if (facts.length === 0) return;
  const digests = await findIndexesAbove(db, repoUid, digest);
  const rows = digests.flatMap((at) => facts.map((fact) => ({ repo_uid: repoUid, digest: at, ...fact })));
  for (let start = 0; start < rows.length; start += ROWS_PER_STATEMENT) {
    await db
      .insertInto("image")
      .values(rows.slice(start, start + ROWS_PER_STATEMENT))
      .onConflict((conflict) => conflict.doNothing())
      .execute();
  }
  const platforms = rows.filter((row) => row.digest !== row.manifest_digest);
  for (let start = 0; start < platforms.length; start += ROWS_PER_STATEMENT) {
    await db
      .insertInto("index_platform")
      .values(platforms.slice(start, start + ROWS_PER_STATEMENT).map(({ digest, manifest_digest }) => ({ digest, manifest_digest })))
      // Changes nothing, but locks the row, which collection may be about to delete.
      .onConflict((conflict) =>
        conflict.columns(["digest", "manifest_digest"]).doUpdateSet((eb) => ({ digest: eb.ref("excluded.digest") })),
      )
      .execute();
  }
}

function factsOf(digest: string, { config, layers }: Manifest, platform: Platform | undefined): ImageFacts[] {
  if (config === undefined || platform === undefined) return [];
  const size = layers.reduce((sum, layer) => sum + layer.size, config.size);
  return [{ ...platform, manifest_digest: digest, config_digest: config.digest, size }];
}

function readFactsOfChildren(db: ReadDb, repoUid: string, digest: string): Promise<ImageFacts[]> {
  return db
    .selectFrom("manifest_reference as r")
    .innerJoin("image as i", (join) => join.onRef("i.repo_uid", "=", "r.repo_uid").onRef("i.digest", "=", "r.digest"))
    .select(["i.architecture", "i.os", "i.variant", "i.manifest_digest", "i.config_digest", "i.size"])
    .where("r.repo_uid", "=", repoUid)
    .where("r.manifest_digest", "=", digest)
    .where("r.kind", "=", "manifest")
    .execute();
}

/**
 * The digest and those of all indexes that contain it. Visits each index once, as the graph may contain many paths to
 * it.
 */
async function findIndexesAbove(db: ReadDb, repoUid: string, digest: string): Promise<string[]> {
  const known = new Set([digest]);
  for (let level = [digest]; level.length > 0 && known.size < MAX_INDEXES; ) {
    const parents = await db
      .selectFrom("manifest_reference")
      // No `distinct`: SQLite would scan all references of the repo to sort them.
      .select("manifest_digest")
      .where("repo_uid", "=", repoUid)
      .where("digest", "in", (eb) => eb.selectFrom(db.dialect.valuesOf(level).as("d")).select("d.value"))
      .where("kind", "=", "manifest")
      .limit(MAX_INDEXES)
      .execute();
    level = [...new Set(parents.map((row) => row.manifest_digest))].filter((parent) => !known.has(parent));
    for (const parent of level) known.add(parent);
  }
  return [...known];
}
