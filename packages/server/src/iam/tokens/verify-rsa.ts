/**
 * Verifies RS256, RS384 and RS512 signatures on the thread that asks. That takes about 30 µs; handing the work to another
 * thread and back takes longer.
 */
import { createPublicKey, type KeyObject, verify } from "node:crypto";
import type { VerificationKey } from "./jwk-set.ts";
import type { ParsedJwt } from "./jwt.ts";

const DIGESTS: ReadonlyMap<string, string> = new Map([
  ["RS256", "sha256"],
  ["RS384", "sha384"],
  ["RS512", "sha512"],
]);
/** Characters of a modulus of 4096 bits. A longer key, or one with a large exponent, would hold up other requests. */
const MAX_MODULUS_LENGTH = 683;
/** 65537, which nearly all keys have. */
const EXPONENT = "AQAB";

/** Imported keys; null for a key that cannot be imported. */
const keys = new WeakMap<VerificationKey["jwk"], KeyObject | null>();

/** Whether `isSignedByRsaKey` may be asked. */
export function isQuickToVerify({ algorithm }: Pick<ParsedJwt, "algorithm">, { kty, jwk }: VerificationKey): boolean {
  return kty === "RSA" && DIGESTS.has(algorithm) && jwk.e === EXPONENT && (jwk.n ?? "").length <= MAX_MODULUS_LENGTH;
}

/** The token is in canonical base64url, see jwt.ts. */
export function isSignedByRsaKey({ algorithm, compact }: Pick<ParsedJwt, "algorithm" | "compact">, { jwk }: VerificationKey): boolean {
  const key = keyOf(jwk);
  if (key === null) return false;
  const end = compact.lastIndexOf(".");
  return verify(
    DIGESTS.get(algorithm),
    Buffer.from(compact.slice(0, end), "latin1"),
    key,
    Buffer.from(compact.slice(end + 1), "base64url"),
  );
}

function keyOf(jwk: VerificationKey["jwk"]): KeyObject | null {
  const known = keys.get(jwk);
  if (known !== undefined) return known;
  const key = importKey(jwk);
  keys.set(jwk, key);
  return key;
}

function importKey(jwk: VerificationKey["jwk"]): KeyObject | null {
  try {
    return createPublicKey({ key: jwk, format: "jwk" });
  } catch {
    return null;
  }
}
