/** Verifies tokens that others signed, by the rules of RFC 8725. Where the keys come from is jwks.ts; what the claims are good for, claim-match.ts. */
import { compactVerify } from "jose";
import type { VerificationKey } from "./jwk-set.ts";
import { type Claims, claimOf, isCleanText, malformed, type ParsedJwt } from "./jwt.ts";

/** Algorithms with a public key, each with the one type of key it takes: a key never serves for another algorithm than it was made for (RFC 8725 §3.1). */
const KEY_TYPES = new Map<string, { kty: VerificationKey["kty"]; crv?: string }>([
  ...["RS256", "RS384", "RS512", "PS256", "PS384", "PS512"].map((algorithm) => [algorithm, { kty: "RSA" }] as [string, { kty: "RSA" }]),
  ["ES256", { kty: "EC", crv: "P-256" }],
  ["ES384", { kty: "EC", crv: "P-384" }],
  ["ES512", { kty: "EC", crv: "P-521" }],
  ["EdDSA", { kty: "OKP", crv: "Ed25519" }],
]);
export const ALGORITHMS: ReadonlySet<string> = new Set(KEY_TYPES.keys());
const CLOCK_SKEW_SECONDS = 60;
/** A set whose keys have no ids makes every key a candidate; this bounds what one token can cost. */
const MAX_CANDIDATES = 16;

export interface VerifyOptions {
  readonly keys: readonly VerificationKey[];
  /** Compared exactly with the token's issuer. */
  readonly issuer: string;
  readonly now: Date;
  readonly algorithms?: ReadonlySet<string>;
}

/** @throws UNAUTHENTICATED unless one of the keys signed the token, its issuer is the wanted one and it is valid now */
export async function verifyThirdPartyToken(token: ParsedJwt, options: VerifyOptions): Promise<Claims> {
  if (token.issuer !== options.issuer) throw malformed("wrong issuer");
  assertAlgorithm(token, options.algorithms ?? ALGORITHMS);
  assertTimes(token.claims, options.now);
  const subject = claimOf(token.claims, "sub");
  if (subject !== undefined && (typeof subject !== "string" || !isCleanText(subject))) throw malformed("the subject is not text");
  if (!(await isSignedByOne(token, candidates(token, options.keys)))) throw malformed("the signature is not from a key of the issuer");
  return token.claims;
}

/** Before any key is fetched: a token with a symmetric algorithm or none is hopeless. */
export function assertAlgorithm(token: ParsedJwt, algorithms: ReadonlySet<string> = ALGORITHMS): void {
  if (!algorithms.has(token.algorithm) || !KEY_TYPES.has(token.algorithm)) throw malformed("the algorithm is not accepted");
}

/** `exp` is mandatory; `nbf` and `iat` are held against the clock where they are given. */
export function assertTimes(claims: Claims, now: Date): void {
  const seconds = now.getTime() / 1000;
  const expiry = timeClaim(claims, "exp");
  if (expiry === undefined) throw malformed("no expiry");
  if (expiry + CLOCK_SKEW_SECONDS <= seconds) throw malformed("expired");
  for (const name of ["nbf", "iat"]) {
    const time = timeClaim(claims, name);
    if (time !== undefined && time - CLOCK_SKEW_SECONDS > seconds) throw malformed("not valid yet");
  }
}

function timeClaim(claims: Claims, name: string): number | undefined {
  const value = claimOf(claims, name);
  if (value === undefined) return undefined;
  if (typeof value !== "number" || !Number.isFinite(value) || Math.abs(value) > Number.MAX_SAFE_INTEGER)
    throw malformed(`"${name}" is not a time`);
  return value;
}

export function isCandidate(token: Pick<ParsedJwt, "algorithm" | "kid">, key: VerificationKey): boolean {
  const wanted = KEY_TYPES.get(token.algorithm);
  if (wanted?.kty !== key.kty || (wanted.crv !== undefined && wanted.crv !== key.crv)) return false;
  return (
    (key.alg === undefined || key.alg === token.algorithm) && (token.kid === undefined || key.kid === undefined || key.kid === token.kid)
  );
}

function candidates(token: ParsedJwt, keys: readonly VerificationKey[]): VerificationKey[] {
  return keys.filter((key) => isCandidate(token, key)).slice(0, MAX_CANDIDATES);
}

async function isSignedByOne(token: ParsedJwt, keys: readonly VerificationKey[]): Promise<boolean> {
  for (const { jwk } of keys) {
    // jose decides on the key alone: no key is ever looked up from the token.
    const isSigned = await compactVerify(token.text, jwk, { algorithms: [token.algorithm] }).then(
      () => true,
      () => false,
    );
    if (isSigned) return true;
  }
  return false;
}
