/** Verifies a token with the keys that its issuer publishes. Whether the issuer is one to ask at all is for the caller to know beforehand. */

import type { JwksCache } from "./jwks.ts";
import type { Claims, ParsedJwt } from "./jwt.ts";
import { assertAlgorithm, assertTimes, isCandidate, verifyThirdPartyToken } from "./verify-token.ts";

/** @throws UNAUTHENTICATED; UNAVAILABLE while the issuer does not answer */
export async function verifyWithIssuer(jwks: JwksCache, token: ParsedJwt, now: Date): Promise<Claims> {
  // What is hopeless must not cost the issuer a request.
  assertAlgorithm(token);
  assertTimes(token.claims, now);
  const keys = await jwks.keysOf(token.issuer, (key) => isCandidate(token, key));
  return verifyThirdPartyToken(token, { keys, issuer: token.issuer, now });
}
