/** Secrets at rest: what must be told to others again, and so cannot be a hash, is stored encrypted (AES-256-GCM). */
import { createHmac } from "node:crypto";
import { openBox, sealBox } from "../../lib/sealed-box.ts";

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

/** @param key 32 bytes */
export function createSecrets(key: Uint8Array): Secrets {
  if (key.length !== SECRETS_KEY_BYTES) throw new Error(`the key of secrets must have ${SECRETS_KEY_BYTES} bytes`);
  return {
    seal(text, context) {
      return PREFIX + sealBox(key, text, Buffer.from(context)).toString("base64url");
    },
    open(sealed, context) {
      if (!sealed.startsWith(PREFIX)) throw new Error("not a sealed secret");
      return openBox(key, Buffer.from(sealed.slice(PREFIX.length), "base64url"), Buffer.from(context));
    },
    fingerprint: createHmac("sha256", key).update("holt secrets key").digest("hex").slice(0, 32),
  };
}
