/** The file with the private key of a workload, and the names under which the server knows it. */
import { readFileSync, writeFileSync } from "node:fs";
import type { TokenSource } from "@holt/client";
import { type SigningKey, signedToken } from "@holt/client/signed";
import { usageFailure } from "../failure.ts";

export interface KeyFile extends SigningKey {
  /** URL of the server. */
  readonly server: string;
  /** uid of the identity. */
  readonly identity: string;
}

/** Only the user may read it. @throws if the file exists: another workload may need its key */
export function writeKeyFile(path: string, file: KeyFile): void {
  writeFileSync(path, `${JSON.stringify(file, null, 2)}\n`, { mode: 0o600, flag: "wx" });
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
