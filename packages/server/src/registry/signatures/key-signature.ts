/** Finds the public key that made a signature. Pure. */
import { createPublicKey, type KeyObject, verify } from "node:crypto";

export interface TrustedKey {
  readonly uid: string;
  /** PEM. */
  readonly publicKey: string;
}

/**
 * @param signatures in base64, of which one by a trusted key is enough
 * @returns the uid of the key that made one of them
 */
export function findSigner(signed: Buffer, signatures: readonly string[], keys: readonly TrustedKey[]): string | undefined {
  const decoded = signatures.map((signature) => Buffer.from(signature, "base64"));
  return keys.find(({ publicKey }) => {
    const key = createPublicKey(publicKey);
    return decoded.some((signature) => hashesOf(key).some((hash) => verify(hash, signed, key, signature)));
  })?.uid;
}

/** Cosign hashes with SHA-256 for every curve; other tools use the hash that belongs to the curve. */
function hashesOf({ asymmetricKeyType, asymmetricKeyDetails }: KeyObject): readonly (string | null)[] {
  if (asymmetricKeyType === "ed25519") return [null];
  if (asymmetricKeyDetails?.namedCurve === "secp384r1") return ["sha256", "sha384"];
  if (asymmetricKeyDetails?.namedCurve === "secp521r1") return ["sha256", "sha512"];
  return ["sha256"];
}
