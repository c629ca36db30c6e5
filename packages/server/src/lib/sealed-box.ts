/**
 * The one envelope of AES-256-GCM: nonce, ciphertext and tag, concatenated. Nonces are random, so a key is good for about
 * 2^32 messages (NIST SP 800-38D §8.3).
 */
import { type CipherKey, createCipheriv, createDecipheriv, randomBytes } from "node:crypto";

const ALGORITHM = "aes-256-gcm";
const NONCE_BYTES = 12;
const TAG_BYTES = 16;
const NO_CONTEXT = Buffer.alloc(0);

/** Nonces are drawn many at a time, because a call of the random generator costs as much as a short box. */
let drawn = Buffer.alloc(0);

function newNonce(): Buffer {
  if (drawn.length < NONCE_BYTES) drawn = randomBytes(256 * NONCE_BYTES);
  const nonce = drawn.subarray(0, NONCE_BYTES);
  drawn = drawn.subarray(NONCE_BYTES);
  return nonce;
}

/** @param key 32 bytes. @param context the box opens only with the same context, which it does not hold */
export function sealBox(key: CipherKey, text: string, context: Uint8Array = NO_CONTEXT): Buffer {
  const nonce = newNonce();
  const cipher = createCipheriv(ALGORITHM, key, nonce).setAAD(context);
  return Buffer.concat([nonce, cipher.update(text, "utf8"), cipher.final(), cipher.getAuthTag()]);
}

/** @throws Error if the box was sealed with another key or context, was changed, or is too short */
export function openBox(key: CipherKey, box: Buffer, context: Uint8Array = NO_CONTEXT): string {
  if (box.length < NONCE_BYTES + TAG_BYTES) throw new Error("not a sealed box: too short");
  const decipher = createDecipheriv(ALGORITHM, key, box.subarray(0, NONCE_BYTES), { authTagLength: TAG_BYTES })
    .setAAD(context)
    .setAuthTag(box.subarray(-TAG_BYTES));
  return Buffer.concat([decipher.update(box.subarray(NONCE_BYTES, -TAG_BYTES)), decipher.final()]).toString("utf8");
}
