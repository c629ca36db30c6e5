/**
 * Verifies tokens of other issuers as RFC 8725 requires. The keys come from jwks.ts; claim-match.ts compares the
 * claims.
 */
import { compactVerify } from "jose";
import { isCleanText } from "../../lib/clean-text.ts";
import type { VerificationKey } from "./jwk-set.ts";
import { type Claims, claimOf, invalidToken, type ParsedJwt } from "./jwt.ts";
import { isQuickToVerify, isSignedByRsaKey } from "./verify-rsa.ts";

/**
 * Public-key algorithms, each with the one type of key it accepts: a key is never used with an algorithm it was not
 * made for (RFC 8725 §3.1).
 */
const KEY_TYPES = new Map<string, { kty: VerificationKey["kty"]; crv?: string }>([
  ...["RS256", "RS384", "RS512", "PS256", "PS384", "PS512"].map((algorithm) => [algorithm, { kty: "RSA" }] as [string, { kty: "RSA" }]),
  ["ES256", { kty: "EC", crv: "P-256" }],
  ["ES384", { kty: "EC", crv: "P-384" }],
  ["ES512", { kty: "EC", crv: "P-521" }],
  ["EdDSA", { kty: "OKP", crv: "Ed25519" }],
]);
export const ALGORITHMS: ReadonlySet<string> = new Set(KEY_TYPES.keys());
const CLOCK_SKEW_SECONDS = 60;
/** If keys have no ids, every key of the set is a candidate. This limits the cost of one token. */
const MAX_CANDIDATES = 16;

export interface VerifyOptions {
  readonly keys: readonly VerificationKey[];
  /** Must equal the token's issuer exactly. */
  readonly issuer: string;
  readonly now: Date;
  readonly algorithms?: ReadonlySet<string>;
}

/** @throws UNAUTHENTICATED unless one of the keys signed the token, the issuer matches and the token is valid now */
export async function verifyThirdPartyToken(token: ParsedJwt, options: VerifyOptions): Promise<Claims> {
  if (token.issuer !== options.issuer) throw invalidToken("wrong issuer");
  assertAlgorithm(token, options.algorithms ?? ALGORITHMS);
  assertTimes(token.claims, options.now);
  const subject = claimOf(token.claims, "sub");
  if (subject !== undefined && (typeof subject !== "string" || !isCleanText(subject)))
    throw invalidToken("the subject is not a valid string");
  if (!(await isSignedByAny(token, candidateKeys(token, options.keys))))
    throw invalidToken("the signature is not from a key of the issuer");
  return token.claims;
}

/** Called before keys are fetched: a token with a symmetric algorithm or none can never be valid. */
export function assertAlgorithm(token: ParsedJwt, algorithms: ReadonlySet<string> = ALGORITHMS): void {
  if (!algorithms.has(token.algorithm) || !KEY_TYPES.has(token.algorithm)) throw invalidToken("the algorithm is not accepted");
}

/** `exp` is mandatory; `nbf` and `iat` are checked if present. */
export function assertTimes(claims: Claims, now: Date): void {
  const seconds = now.getTime() / 1000;
  const expiry = timeClaim(claims, "exp");
  if (expiry === undefined) throw invalidToken("no expiry");
  if (expiry + CLOCK_SKEW_SECONDS <= seconds) throw invalidToken("expired");
  for (const name of ["nbf", "iat"]) {
    const time = timeClaim(claims, name);
    if (time !== undefined && time - CLOCK_SKEW_SECONDS > seconds) throw invalidToken("not valid yet");
  }
}

function timeClaim(claims: Claims, name: string): number | undefined {
  const value = claimOf(claims, name);
  if (value === undefined) return undefined;
  if (typeof value !== "number" || !Number.isFinite(value) || Math.abs(value) > Number.MAX_SAFE_INTEGER)
    throw invalidToken(`"${name}" is not a time`);
  return value;
}

export function isCandidate(token: Pick<ParsedJwt, "algorithm" | "kid">, key: VerificationKey): boolean {
  const wanted = KEY_TYPES.get(token.algorithm);
  if (wanted?.kty !== key.kty || (wanted.crv !== undefined && wanted.crv !== key.crv)) return false;
  return (
    (key.alg === undefined || key.alg === token.algorithm) && (token.kid === undefined || key.kid === undefined || key.kid === token.kid)
  );
}

function candidateKeys(token: ParsedJwt, keys: readonly VerificationKey[]): VerificationKey[] {
  return keys.filter((key) => isCandidate(token, key)).slice(0, MAX_CANDIDATES);
}

async function isSignedByAny(token: ParsedJwt, keys: readonly VerificationKey[]): Promise<boolean> {
  for (const key of keys) {
    const isSigned = isQuickToVerify(token, key) ? isSignedByRsaKey(token, key) : await isSignedBy(token, key);
    if (isSigned) return true;
  }
  return false;
}

/** jose uses only the given key; no key is looked up from the token. It verifies on another thread. */
function isSignedBy(token: ParsedJwt, { jwk }: VerificationKey): Promise<boolean> {
  return compactVerify(token.compact, jwk, { algorithms: [token.algorithm] }).then(
    () => true,
    () => false,
  );
}
