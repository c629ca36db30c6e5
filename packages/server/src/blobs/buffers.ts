/** Buffers for the bytes of files, used again and again: what a new one costs to make and to collect is most of what moving bytes costs. */

/** Bytes that are read or written at once. */
export const BUFFER_SIZE = 256 * 1024;

/** As much as a few transfers at once need, and little memory. */
const MAX_SPARE = 32;
const spare: Buffer[] = [];

export function takeBuffer(): Buffer {
  return spare.pop() ?? Buffer.allocUnsafeSlow(BUFFER_SIZE);
}

/** Nobody may hold it any more. */
export function giveBack(buffer: Buffer): void {
  if (spare.length < MAX_SPARE) spare.push(buffer);
}
