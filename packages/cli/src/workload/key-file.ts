/** The file with the private key of a workload, and the names under which the server knows it. */
import { readFileSync, rmSync, writeFileSync } from "node:fs";
import type { TokenSource } from "@holt/client";
import { type SigningKey, signedToken } from "@holt/client/signed";
import { usageFailure } from "../failure.ts";

export interface KeyFile extends SigningKey {
  /** URL of the server. */
  readonly server: string;
  /** uid of the identity. */
  readonly identity: string;
}

/**
 * Creates a file that only the user may read, and then its content: an identity whose key cannot be stored is not created.
 * If the work fails, the file is removed.
 * @throws if the file exists: another workload may need its key
 */
export async function withNewKeyFile<T>(path: string, work: (write: (file: KeyFile) => void) => Promise<T>): Promise<T> {
  writeFileSync(path, "", { mode: 0o600, flag: "wx" });
  try {
    return await work((file) => writeFileSync(path, `${JSON.stringify(file, null, 2)}\n`));
  } catch (error) {
    rmSync(path, { force: true });
    throw error;
  }
}

export function readKeyFile(path: string): KeyFile {
  const text = readFileSync(path, "utf8");
  try {
    const file = JSON.parse(text) as KeyFile;
    if (typeof file.identity === "string" && typeof file.key === "object") return file;
  } catch {
    // The message must not contain any part of the file.
  }
  throw usageFailure(`${path} is not a key file`, "make one with: holt workload create");
}

/** @param audience of the proofs; the file's own server by default */
export function proofSource(path: string, audience?: string, ttlSeconds?: number): TokenSource {
  const file = readKeyFile(path);
  return signedToken(file, { audience: audience ?? file.server, ...(ttlSeconds !== undefined && { ttlSeconds }) });
}
