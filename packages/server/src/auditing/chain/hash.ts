/** The hash of an entry: SHA-256 over the hash before it in its chain and the bytes of the entry as they are stored. */
import { hash } from "node:crypto";

export const HASH_LENGTH = 32;

/** Holds the bytes that are hashed, unless the entry is large. */
const scratch = Buffer.allocUnsafe(32 * 1024);
const MAX_BYTES_PER_CHARACTER = 3;

/** @param previous raw hash of the entry before it; empty for the first one */
export function hashOf(previous: Uint8Array, content: string): Buffer {
  const isSmall = previous.length + content.length * MAX_BYTES_PER_CHARACTER <= scratch.length;
  const bytes = isSmall ? scratch : Buffer.allocUnsafe(previous.length + Buffer.byteLength(content));
  bytes.set(previous);
  const length = previous.length + bytes.write(content, previous.length);
  // Node takes twice as long to make a buffer of its own for each hash, which the garbage collector also has to free.
  return Buffer.from(hash("sha256", bytes.subarray(0, length), "hex"), "hex");
}

/** The form of a hash in answers, lines and checkpoints. The empty string stands for the beginning of a chain. */
export function hashText(raw: Uint8Array): string {
  return Buffer.from(raw.buffer, raw.byteOffset, raw.byteLength).toString("base64url");
}

export function rawHash(text: string): Buffer {
  return Buffer.from(text, "base64url");
}
