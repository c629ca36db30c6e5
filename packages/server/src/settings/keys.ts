/** Settings of the keys that seal secrets and sign tokens. */
import { parseSecretsKey } from "../iam/secrets/secrets-key.ts";
import type { SettingGroup } from "./setting.ts";
import { HOUR_MS, orZero, parseDuration } from "./values.ts";

export const keysSettings = {
  /** Undefined for a key in the data folder. */
  secretsKey: {
    env: "HOLT_SECRETS_KEY",
    fallback: "",
    isSecret: true,
    doc: "Key that seals secrets in the database, such as client secrets of identity providers, keys of authenticator apps and waiting mails: 32 random bytes in base64 (`openssl rand -base64 32`). Empty: the file `secrets.key` in the data folder, created at the first start. All servers of one database need the same key.",
    parse: (text) => (text === "" ? undefined : secretsKeyFrom(text)),
  },
  /** 0 for never. */
  signingKeyRotationMs: {
    env: "HOLT_SIGNING_KEY_ROTATION",
    fallback: "720h",
    doc: "Age at which the key that signs tokens is replaced, such as `720h`. The replaced key stays published for 24 hours, and tokens live for one hour at most. `0` leaves rotation to the command `holtd keys rotate`.",
    parse: orZero(parseDuration(1000, 10 * 365 * 24 * HOUR_MS)),
  },
} satisfies SettingGroup;

function secretsKeyFrom(text: string): Uint8Array {
  const key = parseSecretsKey(text);
  if (key === undefined) throw new Error("empty, or the base64 of 32 bytes, such as `openssl rand -base64 32` prints");
  return key;
}
