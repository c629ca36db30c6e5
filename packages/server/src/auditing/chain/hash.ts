/** The hash of an entry: SHA-256 over the hash before it in its chain and the bytes of the entry as they are stored. */
import { hash } from "node:crypto";

export const HASH_LENGTH = 32;

/** @param previous raw hash of the entry before it; empty for the first one */
export function hashOf(previous: Uint8Array, content: string): Buffer {
  const bytes = Buffer.allocUnsafe(previous.length + Buffer.byteLength(content));
  bytes.set(previous);
  bytes.write(content, previous.length);
  return hash("sha256", bytes, "buffer");
}

/** The form of a hash in answers, lines and checkpoints. The empty string stands for the beginning of a chain. */
export function hashText(raw: Uint8Array): string {
  return Buffer.from(raw.buffer, raw.byteOffset, raw.byteLength).toString("base64url");
}

export function rawHash(text: string): Buffer {
  return Buffer.from(text, "base64url");
}
