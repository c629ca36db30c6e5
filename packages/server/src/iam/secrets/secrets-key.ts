/** Where the key of secrets comes from: the operator, or a file in the data folder that the first server makes. */
import { randomBytes, randomUUID } from "node:crypto";
import { link, mkdir, open, readFile, rm } from "node:fs/promises";
import { join } from "node:path";
import { decideState, readState } from "../../db/server-state.ts";
import type { Store } from "../../db/store.ts";
import { createSecrets, SECRETS_KEY_BYTES, type Secrets } from "./secrets.ts";

export interface SecretsKeyOptions {
  readonly store: Store;
  readonly dataDir: string;
  /** Undefined for the one in the data folder. */
  readonly key: Uint8Array | undefined;
}

/** Row of server_state. */
const FINGERPRINT = "secrets_key";

/** @throws Error for the operator where the secrets of this database were sealed with another key, or the key's file cannot be used */
export async function openSecrets({ store, dataDir, key }: SecretsKeyOptions): Promise<Secrets> {
  const known = await readState(store.reader, FINGERPRINT);
  // A new key would open nothing that there is.
  const found = key ?? (known === undefined ? await ensureKeyFile(dataDir) : await readKeyFile(dataDir));
  if (found === undefined) throw unusable(`there is no key: neither HOLT_SECRETS_KEY nor ${pathIn(dataDir)}`);
  const secrets = createSecrets(found);
  if ((await store.transaction((db) => decideState(db, FINGERPRINT, secrets.fingerprint))) !== secrets.fingerprint)
    throw unusable(key === undefined ? `${pathIn(dataDir)} is not their key` : "HOLT_SECRETS_KEY is not their key");
  return secrets;
}

/** @returns the key, or undefined for a text that is none */
export function parseSecretsKey(text: string): Uint8Array | undefined {
  const key = Buffer.from(text.trim(), "base64");
  return key.length === SECRETS_KEY_BYTES && key.toString("base64") === text.trim() ? key : undefined;
}

async function readKeyFile(dataDir: string): Promise<Uint8Array | undefined> {
  const text = await readFile(pathIn(dataDir), "utf8").catch((error: NodeJS.ErrnoException) => {
    if (error.code === "ENOENT") return undefined;
    throw new Error(`cannot read the key of secrets: ${error.message}`, { cause: error });
  });
  if (text === undefined) return undefined;
  const key = parseSecretsKey(text);
  if (key === undefined) throw new Error(`${pathIn(dataDir)} does not hold the base64 of ${SECRETS_KEY_BYTES} bytes`);
  return key;
}

/** The key in the file, which is made where there is none. Of several servers that do so at once, all get the same one. */
async function ensureKeyFile(dataDir: string): Promise<Uint8Array | undefined> {
  const existing = await readKeyFile(dataDir);
  if (existing !== undefined) return existing;
  const made = join(dataDir, `secrets.key.${randomUUID()}`);
  try {
    await mkdir(dataDir, { recursive: true, mode: 0o700 });
    await using file = await open(made, "wx", 0o600);
    await file.writeFile(`${randomBytes(SECRETS_KEY_BYTES).toString("base64")}\n`);
    await file.sync();
    // A file comes into being under its name with all of its text, or not at all.
    await link(made, pathIn(dataDir)).catch((error: NodeJS.ErrnoException) => {
      if (error.code !== "EEXIST") throw error;
    });
  } catch (error) {
    throw new Error(`cannot make the key of secrets in ${dataDir}: ${(error as Error).message}`, { cause: error });
  } finally {
    await rm(made, { force: true });
  }
  return readKeyFile(dataDir);
}

function pathIn(dataDir: string): string {
  return join(dataDir, "secrets.key");
}

function unusable(what: string): Error {
  return new Error(
    `the secrets of this database cannot be opened: ${what}. All servers of one database need the same key. Where it is lost for good, ` +
      `delete the row "${FINGERPRINT}" of the table server_state, start again, and give each identity provider its client secret again`,
  );
}
