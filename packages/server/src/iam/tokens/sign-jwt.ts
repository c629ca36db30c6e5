/** Signs claims as a JWT with Holt's current key. */
import { CompactSign } from "jose";
import type { Claims } from "./jwt.ts";
import { SIGNING_ALGORITHM, type SigningKeys } from "./signing-keys.ts";

const encoder = new TextEncoder();

/** WebCrypto signs on a thread pool, off the event loop. */
export async function signJwt(keys: SigningKeys, claims: Claims): Promise<string> {
  const { kid, privateKey } = await keys.current();
  return new CompactSign(encoder.encode(JSON.stringify(claims)))
    .setProtectedHeader({ alg: SIGNING_ALGORITHM, kid, typ: "JWT" })
    .sign(privateKey);
}
