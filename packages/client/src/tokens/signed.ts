/** Proofs that a workload signs with a key of its own, for an identity with `staticKeys`. */
import { type CryptoKey, exportJWK, generateKeyPair, importJWK, type JWK, SignJWT } from "jose";
import type { TokenSource } from "./token-source.ts";

/** A private key with the names under which the server knows it. */
export interface SigningKey {
  /** Issuer and subject of the identity. */
  readonly issuer: string;
  readonly subject: string;
  /** The private key, with `kid` and `alg`. */
  readonly key: JWK;
}

export interface SignedTokenOptions {
  /** URL of the server, unless the identity has another audience. */
  readonly audience: string;
  /** Default: five minutes. */
  readonly ttlSeconds?: number;
  readonly now?: () => Date;
}

/** Signs a proof for each use. Exchange it: `exchangedToken(signedToken(key, { audience: url }), { baseUrl: url, identity })`. */
export function signedToken(
  { issuer, subject, key }: SigningKey,
  { audience, ttlSeconds = 300, now = () => new Date() }: SignedTokenOptions,
): TokenSource {
  let imported: Promise<CryptoKey | Uint8Array> | undefined;
  return async () => {
    imported ??= importJWK(key);
    const seconds = Math.floor(now().getTime() / 1000);
    const claims = { iss: issuer, sub: subject, aud: audience, iat: seconds, exp: seconds + ttlSeconds };
    const header = { alg: key.alg ?? "ES256", ...(key.kid !== undefined && { kid: key.kid }) };
    const token = await new SignJWT(claims).setProtectedHeader(header).sign(await imported);
    return { token, expiry: new Date((seconds + ttlSeconds) * 1000) };
  };
}

export interface NewSigningKey {
  readonly privateKey: JWK;
  /** The value of `issuerKeys` of the identity. */
  readonly issuerKeys: string;
}

/** Makes a key pair (P-256). The private key never leaves the caller. */
export async function createSigningKey(): Promise<NewSigningKey> {
  const { publicKey, privateKey } = await generateKeyPair("ES256", { extractable: true });
  const names = { kid: crypto.randomUUID(), alg: "ES256", use: "sig" };
  const issuerKeys = JSON.stringify({ keys: [{ ...(await exportJWK(publicKey)), ...names }] });
  return { privateKey: { ...(await exportJWK(privateKey)), ...names }, issuerKeys };
}
