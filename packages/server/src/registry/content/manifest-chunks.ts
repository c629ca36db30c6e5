/** Splits manifests into chunks, each for one transaction that deletes them. Pure. */
import { chunksBySize } from "../../lib/chunks-by-size.ts";

/** Foreign keys delete the references and images of a manifest. Its bytes tell how many it has: a descriptor takes about a hundred. */
const BYTES_PER_CHUNK = 256 * 1024;

/** @param maxCount manifests per chunk. A large manifest has a chunk of its own. */
export function chunkManifests<T extends { readonly size: number }>(manifests: readonly T[], maxCount?: number): T[][] {
  const sizeOf = ({ size }: T) => Number(size);
  return chunksBySize(manifests, { sizeOf, maxSize: BYTES_PER_CHUNK, ...(maxCount !== undefined && { maxCount }) });
}
