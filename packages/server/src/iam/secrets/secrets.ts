/** Secrets at rest: what must be told to others again, and so cannot be a hash, is stored encrypted (AES-256-GCM). */
import { createCipheriv, createDecipheriv, createHmac, randomBytes } from "node:crypto";

export interface Secrets {
  /** @param context what the secret is for; it opens for the same only */
  seal(text: string, context: string): string;
  /** @throws Error where it was sealed with another key or for something else */
  open(sealed: string, context: string): string;
  /** Tells keys apart and gives nothing of them away. */
  readonly fingerprint: string;
}

export const SECRETS_KEY_BYTES = 32;
/** Names the algorithm, so that there can be another one some day. */
const PREFIX = "v1.";
const NONCE_BYTES = 12;
const TAG_BYTES = 16;

/** @param key 32 bytes. Its nonces are random: good for about 2^32 secrets (NIST SP 800-38D §8.3) */
export function createSecrets(key: Uint8Array): Secrets {
  if (key.length !== SECRETS_KEY_BYTES) throw new Error(`the key of secrets must have ${SECRETS_KEY_BYTES} bytes`);
  return {
    seal(text, context) {
      const nonce = randomBytes(NONCE_BYTES);
      const cipher = createCipheriv("aes-256-gcm", key, nonce).setAAD(Buffer.from(context, "utf8"));
      const content = Buffer.concat([cipher.update(text, "utf8"), cipher.final()]);
      return PREFIX + Buffer.concat([nonce, content, cipher.getAuthTag()]).toString("base64url");
    },
    open(sealed, context) {
      const bytes = Buffer.from(sealed.slice(PREFIX.length), "base64url");
      if (!sealed.startsWith(PREFIX) || bytes.length < NONCE_BYTES + TAG_BYTES) throw new Error("not a sealed secret");
      const decipher = createDecipheriv("aes-256-gcm", key, bytes.subarray(0, NONCE_BYTES), { authTagLength: TAG_BYTES })
        .setAAD(Buffer.from(context, "utf8"))
        .setAuthTag(bytes.subarray(-TAG_BYTES));
      return Buffer.concat([decipher.update(bytes.subarray(NONCE_BYTES, -TAG_BYTES)), decipher.final()]).toString("utf8");
    },
    fingerprint: createHmac("sha256", key).update("holt secrets key").digest("hex").slice(0, 32),
  };
}
