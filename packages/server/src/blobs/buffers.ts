/** A pool of buffers for file transfers. Allocating and collecting buffers would cost more than moving the bytes. */

/** Bytes per read or write. */
export const BUFFER_SIZE = 256 * 1024;

/** Enough for several concurrent transfers; at most 8 MiB. */
const MAX_SPARE_BUFFERS = 32;
const spare: Buffer[] = [];

export function takeBuffer(): Buffer {
  return spare.pop() ?? Buffer.allocUnsafeSlow(BUFFER_SIZE);
}

/** Returns a buffer to the pool. The caller must not use it afterwards. */
export function returnBuffer(buffer: Buffer): void {
  if (spare.length < MAX_SPARE_BUFFERS) spare.push(buffer);
}
