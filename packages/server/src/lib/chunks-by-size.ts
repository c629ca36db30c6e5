/** Splits items into chunks, such as those of one transaction each. Pure. */

export interface ChunkLimits<T> {
  readonly sizeOf: (item: T) => number;
  readonly maxSize: number;
  /** Items per chunk; any number by default. */
  readonly maxCount?: number;
}

/** In order. An item that is larger than the maximum has a chunk of its own. */
export function chunksBySize<T>(items: readonly T[], { sizeOf, maxSize, maxCount = Number.POSITIVE_INFINITY }: ChunkLimits<T>): T[][] {
  const chunks: T[][] = [];
  let size = 0;
  for (const item of items) {
    const last = chunks.at(-1);
    const more = sizeOf(item);
    if (last !== undefined && last.length < maxCount && size + more <= maxSize) {
      last.push(item);
      size += more;
    } else {
      chunks.push([item]);
      size = more;
    }
  }
  return chunks;
}

/** Chunks of a number of items, in order. The last one may have fewer. */
export function inChunks<T>(items: readonly T[], count: number): T[][] {
  return Array.from({ length: Math.ceil(items.length / count) }, (_, i) => items.slice(i * count, (i + 1) * count));
}
