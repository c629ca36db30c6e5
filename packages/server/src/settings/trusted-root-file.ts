/** Reads the file of HOLT_SIGSTORE_TRUSTED_ROOT. */
import { readFile, stat } from "node:fs/promises";
import { ConfigError } from "../config.ts";

/** Bytes. Each verification reads the file's text again; that of the public instance has 7 KB. */
const MAX_BYTES = 256 * 1024;

/** @param path empty for none. @returns its text, or the empty string. @throws ConfigError if it is not a trusted root */
export async function readTrustedRoot(path: string): Promise<string> {
  if (path === "") return "";
  try {
    if ((await stat(path)).size > MAX_BYTES) throw new Error(`it has more than ${MAX_BYTES} bytes`);
    const text = await readFile(path, "utf8");
    // Loaded here alone, so that other starts do not pay for it.
    const { parseTrustedRoot } = await import("../lib/sigstore/trusted-root.ts");
    parseTrustedRoot(text);
    return text;
  } catch (error) {
    const problem = `HOLT_SIGSTORE_TRUSTED_ROOT: ${JSON.stringify(path)} must be the path of a trusted_root.json of Sigstore`;
    throw new ConfigError(`${problem}: ${(error as Error).message}`);
  }
}
