/** Reads manifests as they are stored, for checks of an installation and of exports. */
import { digestOf, parseDigest } from "../../blobs/digest.ts";
import type { Cell } from "../../transfer/export-format.ts";
import { OciError } from "../oci-error.ts";
import type { ManifestTable } from "../tables.ts";
import { blobsOf, parseManifest } from "./manifest.ts";

export type StoredManifest = Pick<ManifestTable, "digest" | "media_type" | "content">;

export function isDamagedManifest({ digest, content }: Pick<StoredManifest, "digest" | "content">): boolean {
  return digestOf(content, parseDigest(digest)?.algorithm) !== digest;
}

/** The blobs without which a push of the manifest is refused; undefined for a manifest that is refused anyway today. */
export function neededBlobs({ content, media_type: mediaType }: Omit<StoredManifest, "digest">): ReadonlySet<string> | undefined {
  try {
    const needed = blobsOf(parseManifest(content, mediaType)).filter(({ isForeign }) => !isForeign);
    return new Set(needed.map(({ digest }) => digest));
  } catch (error) {
    if (error instanceof OciError) return undefined;
    throw error;
  }
}

/**
 * The blobs that a manifest of an export gives its readers.
 * @throws Error for the operator if the content is not that of the digest, under which another organization may have its own
 */
export function blobsOfExported(row: Readonly<Record<string, Cell | Uint8Array>>): readonly string[] {
  const [digest, content] = [String(row.digest), Buffer.from(String(row.content), "base64")];
  if (isDamagedManifest({ digest, content }))
    throw new Error(`the content of the manifest ${digest} in the export is damaged; nothing was imported`);
  return [...(neededBlobs({ content, media_type: String(row.media_type) }) ?? [])];
}
