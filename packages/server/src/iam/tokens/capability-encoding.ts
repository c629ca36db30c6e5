/** How tokens write a set of capabilities: padded base64url of the number of bits and the bits in 64-bit words, big-endian. Pure. */

/** Readers expect at least this many bits, the size the set started with. */
const MIN_BITS = 50;
const WORD = 64;

/** `set` is a bit set: bit b stands for capability bit b. */
export function encodeCapabilities(set: bigint): string {
  const bits = Math.max(MIN_BITS, set.toString(2).length);
  const words = Math.ceil(bits / WORD);
  const bytes = Buffer.alloc(8 + words * 8);
  bytes.writeBigUInt64BE(BigInt(bits), 0);
  for (let word = 0; word < words; word++) bytes.writeBigUInt64BE(BigInt.asUintN(WORD, set >> BigInt(word * WORD)), 8 + word * 8);
  return padded(bytes);
}

/** @throws Error where the text is no such set */
export function decodeCapabilities(text: string): bigint {
  const bytes = Buffer.from(text, "base64url");
  const bits = bytes.length < 8 ? -1 : Number(bytes.readBigUInt64BE(0));
  const words = Math.ceil(bits / WORD);
  if (bytes.length !== 8 + words * 8 || padded(bytes) !== text) throw new Error("not a capability set");
  let set = 0n;
  for (let word = 0; word < words; word++) set |= bytes.readBigUInt64BE(8 + word * 8) << BigInt(word * WORD);
  return set;
}

function padded(bytes: Buffer): string {
  return bytes.toString("base64").replaceAll("+", "-").replaceAll("/", "_");
}
