/** Hashes content that arrives in chunks. */
import { createHash } from "node:crypto";

/** @param algorithm such as `sha256`. @returns lower-case hexadecimal */
export async function hashBytes(bytes: AsyncIterable<unknown> | Iterable<unknown>, algorithm: string): Promise<string> {
  const hash = createHash(algorithm);
  for await (const chunk of bytes) hash.update(chunk as Uint8Array);
  return hash.digest("hex");
}
