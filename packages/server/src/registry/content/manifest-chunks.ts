/**
 * Splits manifests into chunks, each for one transaction that deletes them. Foreign keys delete the references and images
 * of a manifest, and its bytes tell how many it has: a descriptor takes about a hundred.
 */

const BYTES_PER_CHUNK = 256 * 1024;

/** @param maxCount manifests per chunk. A large manifest has a chunk of its own. */
export function chunkManifests<T extends { readonly size: number }>(manifests: readonly T[], maxCount: number): T[][] {
  const chunks: T[][] = [];
  let bytes = 0;
  for (const manifest of manifests) {
    const last = chunks.at(-1);
    bytes += Number(manifest.size);
    if (last !== undefined && last.length < maxCount && bytes <= BYTES_PER_CHUNK) last.push(manifest);
    else {
      chunks.push([manifest]);
      bytes = Number(manifest.size);
    }
  }
  return chunks;
}
