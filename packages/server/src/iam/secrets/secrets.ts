/**
 * Encrypts secrets that Holt must send to others, and so cannot store as a hash (AES-256-GCM). Hashes secrets that are
 * only compared.
 */
import { createHmac } from "node:crypto";
import { openBox, sealBox } from "../../lib/sealed-box.ts";

export interface Secrets {
  /** @param context purpose of the secret; it opens only with the same context */
  seal(text: string, context: string): string;
  /** @throws Error if it was sealed with another key or in another context */
  open(sealed: string, context: string): string;
  /**
   * HMAC-SHA256, hexadecimal. One fast hash is right for random secrets of 256 bits, which nobody can guess; passwords
   * that people choose need a slow one. Without the key, a copy of the database can neither check a secret nor add one.
   * @param context purpose of the secret
   */
  hash(text: string, context: string): string;
  /** Distinguishes keys without revealing them. */
  readonly fingerprint: string;
}

export const SECRETS_KEY_BYTES = 32;
/** Version of the format, so that the algorithm can change. */
const PREFIX = "v1.";

/** @param key 32 bytes. Nonces are random, which is safe for about 2^32 secrets (NIST SP 800-38D §8.3) */
export function createSecrets(key: Uint8Array): Secrets {
  if (key.length !== SECRETS_KEY_BYTES) throw new Error(`the secrets key must have ${SECRETS_KEY_BYTES} bytes`);
  return {
    seal(text, context) {
      return PREFIX + sealBox(key, text, Buffer.from(context)).toString("base64url");
    },
    open(sealed, context) {
      if (!sealed.startsWith(PREFIX)) throw new Error("not a sealed secret");
      return openBox(key, Buffer.from(sealed.slice(PREFIX.length), "base64url"), Buffer.from(context));
    },
    hash(text, context) {
      const keyOfContext = createHmac("sha256", key).update(`holt hash ${context}`).digest();
      return createHmac("sha256", keyOfContext).update(text).digest("hex");
    },
    fingerprint: createHmac("sha256", key).update("holt secrets key").digest("hex").slice(0, 32),
  };
}
