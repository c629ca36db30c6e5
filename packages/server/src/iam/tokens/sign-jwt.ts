/** Signs claims as a JWT with Holt's current key. */
import { KeyObject, sign } from "node:crypto";
import { promisify } from "node:util";
import type { Claims } from "./jwt.ts";
import { SIGNING_ALGORITHM, type SigningKeys } from "./signing-keys.ts";

/** With a callback, it signs on a thread pool, off the event loop. */
const signAsync = promisify(sign);

export async function signJwt(keys: SigningKeys, claims: Claims): Promise<string> {
  const { kid, privateKey } = await keys.current();
  const signed = `${encode({ alg: SIGNING_ALGORITHM, kid, typ: "JWT" })}.${encode(claims)}`;
  const signature = await signAsync("sha256", Buffer.from(signed), KeyObject.from(privateKey));
  return `${signed}.${signature.toString("base64url")}`;
}

function encode(part: Claims): string {
  return Buffer.from(JSON.stringify(part)).toString("base64url");
}
