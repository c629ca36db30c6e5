/** The part of HPACK (RFC 7541) for a client that sends the same headers with every request. */

/** Index of the newest entry of the dynamic table; the static table has 61 entries. */
const NEWEST_INDEX = 62;

/** Encodes headers literally and adds them to the connection's dynamic table (§6.2.1). */
export function literalHeaders(headers: readonly (readonly [name: string, value: string])[]): Buffer {
  return Buffer.concat(headers.flatMap(([name, value]) => [Buffer.of(0x40), stringLiteral(name), stringLiteral(value)]));
}

/** Encodes the same `count` headers by their table indexes, one byte each (§6.1). */
export function indexedHeaders(count: number): Buffer {
  return Buffer.from(Array.from({ length: count }, (_, i) => 0x80 | (NEWEST_INDEX + count - 1 - i)));
}

/** A string literal without Huffman coding (§5.2). */
function stringLiteral(value: string): Buffer {
  return Buffer.concat([Buffer.from(integer(value.length)), Buffer.from(value)]);
}

/** An integer with a prefix of seven bits (§5.1). */
function integer(value: number): number[] {
  if (value < 127) return [value];
  const bytes = [127];
  let left = value - 127;
  for (; left >= 128; left >>= 7) bytes.push((left & 127) | 128);
  return [...bytes, left];
}
