/**
 * Verifies a token with the keys that its issuer publishes. The caller has decided that the issuer may be contacted.
 */

import type { JwksCache } from "./jwks.ts";
import type { Claims, ParsedJwt } from "./jwt.ts";
import { assertAlgorithm, assertTimes, isCandidate, verifyThirdPartyToken } from "./verify-token.ts";

/** @throws UNAUTHENTICATED for an invalid token; UNAVAILABLE while the issuer does not answer */
export async function verifyWithIssuer(jwks: JwksCache, token: ParsedJwt, now: Date): Promise<Claims> {
  // Reject tokens that cannot be valid before the issuer is contacted.
  assertAlgorithm(token);
  assertTimes(token.claims, now);
  const keys = await jwks.getKeys(token.issuer, (key) => isCandidate(token, key));
  return verifyThirdPartyToken(token, { keys, issuer: token.issuer, now });
}
