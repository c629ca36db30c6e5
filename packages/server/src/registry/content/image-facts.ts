/** What is known of an image without unpacking it: its platforms, and how large it is for each. */

import type { ReadDb, WriteDb } from "../../db/store.ts";
import type { ImageTable } from "../tables.ts";
import type { Manifest, Platform } from "./manifest.ts";

/** Of a config, so that it can be read whole; what is larger is no image's. */
export const MAX_CONFIG_BYTES = 1024 * 1024;
/** Of one statement. */
const MAX_ROWS = 100;
/** Above one manifest; nobody means to have so many. */
const MAX_INDEXES = 1000;

/** The platform that an image's config names; undefined where it is not the config of an image. */
export function platformOfConfig(content: Uint8Array): Platform | undefined {
  try {
    const { architecture, os, variant = "" } = JSON.parse(Buffer.from(content).toString("utf8")) as Record<string, unknown>;
    if (typeof architecture !== "string" || architecture === "" || typeof os !== "string" || typeof variant !== "string") return undefined;
    return isUnknown(architecture) ? undefined : { architecture, os, variant };
  } catch {
    return undefined;
  }
}

/** Builders attach attestations to an index as images for a platform that is none. */
function isUnknown(architecture: string): boolean {
  return architecture === "unknown";
}

/** What an image's row says beside whose it is. */
type Facts = Omit<ImageTable, "repo_uid" | "digest">;

/** Writes what is known of a manifest that was just stored, for itself and for the indexes that were waiting for it: one may be pushed before its children. */
export async function recordImageFacts(
  db: WriteDb,
  repoUid: string,
  digest: string,
  manifest: Manifest,
  platform: Platform | undefined,
): Promise<void> {
  const facts = manifest.kind === "index" ? await factsOfChildren(db, repoUid, digest) : factsOf(digest, manifest, platform);
  if (facts.length === 0) return;
  const rows = (await indexesAbove(db, repoUid, digest)).flatMap((at) => facts.map((fact) => ({ repo_uid: repoUid, digest: at, ...fact })));
  for (let start = 0; start < rows.length; start += MAX_ROWS) {
    await db
      .insertInto("image")
      .values(rows.slice(start, start + MAX_ROWS))
      .onConflict((conflict) => conflict.doNothing())
      .execute();
  }
  const platforms = rows.filter((row) => row.digest !== row.manifest_digest);
  for (let start = 0; start < platforms.length; start += MAX_ROWS) {
    await db
      .insertInto("index_platform")
      .values(platforms.slice(start, start + MAX_ROWS).map(({ digest, manifest_digest }) => ({ digest, manifest_digest })))
      .onConflict((conflict) => conflict.doNothing())
      .execute();
  }
}

function factsOf(digest: string, { config, layers }: Manifest, platform: Platform | undefined): Facts[] {
  if (config === undefined || platform === undefined) return [];
  const size = layers.reduce((sum, layer) => sum + layer.size, config.size);
  return [{ ...platform, manifest_digest: digest, config_digest: config.digest, size }];
}

function factsOfChildren(db: ReadDb, repoUid: string, digest: string): Promise<Facts[]> {
  return db
    .selectFrom("manifest_reference as r")
    .innerJoin("image as i", (join) => join.onRef("i.repo_uid", "=", "r.repo_uid").onRef("i.digest", "=", "r.digest"))
    .select(["i.architecture", "i.os", "i.variant", "i.manifest_digest", "i.config_digest", "i.size"])
    .where("r.repo_uid", "=", repoUid)
    .where("r.manifest_digest", "=", digest)
    .where("r.kind", "=", "manifest")
    .execute();
}

/** The digest and all indexes that lead to it. Each is looked at once: indexes may share children in as many ways as they like. */
async function indexesAbove(db: ReadDb, repoUid: string, digest: string): Promise<string[]> {
  const known = new Set([digest]);
  for (let level = [digest]; level.length > 0 && known.size < MAX_INDEXES; ) {
    const parents = await db
      .selectFrom("manifest_reference")
      // Not distinct: SQLite would walk through all of the repo's references to have them in order.
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
