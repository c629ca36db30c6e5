/**
 * Encodes and decodes capability sets in tokens: padded base64url of the number of bits, then the bits in big-endian
 * 64-bit words. Pure.
 */

/** Readers expect at least this many bits: the set started with 50. */
const MIN_BITS = 50;
const WORD_BITS = 64;

/** @param set bit b stands for capability bit b */
export function encodeCapabilities(set: bigint): string {
  const bits = Math.max(MIN_BITS, set.toString(2).length);
  const words = Math.ceil(bits / WORD_BITS);
  const bytes = Buffer.alloc(8 + words * 8);
  bytes.writeBigUInt64BE(BigInt(bits), 0);
  for (let word = 0; word < words; word++) bytes.writeBigUInt64BE(BigInt.asUintN(WORD_BITS, set >> BigInt(word * WORD_BITS)), 8 + word * 8);
  return padded(bytes);
}

/** @throws Error if `text` is not an encoded set */
export function decodeCapabilities(text: string): bigint {
  const bytes = Buffer.from(text, "base64url");
  const bits = bytes.length < 8 ? -1 : Number(bytes.readBigUInt64BE(0));
  const words = Math.ceil(bits / WORD_BITS);
  if (bytes.length !== 8 + words * 8 || padded(bytes) !== text) throw new Error("not a capability set");
  let set = 0n;
  for (let word = 0; word < words; word++) set |= bytes.readBigUInt64BE(8 + word * 8) << BigInt(word * WORD_BITS);
  return set;
}

function padded(bytes: Buffer): string {
  return bytes.toString("base64").replaceAll("+", "-").replaceAll("/", "_");
}
