/**
 * Parses and computes OCI digests, for the registered algorithms only:
 * https://github.com/opencontainers/image-spec/blob/main/descriptor.md#digests
 */
import { createHash } from "node:crypto";
import { hashBytes } from "../lib/hash-bytes.ts";

export type DigestAlgorithm = "sha256" | "sha512";

export const DIGEST_ALGORITHMS: readonly DigestAlgorithm[] = ["sha256", "sha512"];

export interface Digest {
  readonly algorithm: DigestAlgorithm;
  /** Lower-case hexadecimal: 64 digits for sha256, 128 for sha512. */
  readonly hex: string;
}

const DIGEST = /^(?:(sha256):([0-9a-f]{64})|(sha512):([0-9a-f]{128}))$/;

/** Undefined if the text is malformed or names another algorithm. The result is safe to use in a path. */
export function parseDigest(text: string): Digest | undefined {
  const match = DIGEST.exec(text);
  if (match === null) return undefined;
  const [, sha256, short = "", , long = ""] = match;
  return sha256 === undefined ? { algorithm: "sha512", hex: long } : { algorithm: "sha256", hex: short };
}

export function isDigest(text: string): boolean {
  return DIGEST.test(text);
}

export function digestOf(content: Uint8Array, algorithm: DigestAlgorithm = "sha256"): string {
  return `${algorithm}:${createHash(algorithm).update(content).digest("hex")}`;
}

/** Whether the content has the digest. */
export async function hasDigest(bytes: AsyncIterable<unknown>, digest: string): Promise<boolean> {
  const [algorithm = "", hex] = digest.split(":");
  return (await hashBytes(bytes, algorithm)) === hex;
}
