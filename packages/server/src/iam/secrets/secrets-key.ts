/**
 * Loads the key that encrypts secrets: from the operator's setting, or from a file in the data folder that the first
 * server creates.
 */
import { randomBytes } from "node:crypto";
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { decideState, readState } from "../../db/server-state.ts";
import type { Store } from "../../db/store.ts";
import { createFile } from "../../lib/create-file.ts";
import { createFolders } from "../../lib/create-folders.ts";
import { createSecrets, SECRETS_KEY_BYTES, type Secrets } from "./secrets.ts";

export interface SecretsKeyOptions {
  readonly store: Store;
  readonly dataDir: string;
  /** The operator's key; undefined to use the file in the data folder. */
  readonly key: Uint8Array | undefined;
}

/** Row of server_state that holds the key's fingerprint. */
const FINGERPRINT = "secrets_key";

/** @throws Error if the secrets of this database were encrypted with another key, or the key file cannot be used */
export async function openSecrets({ store, dataDir, key }: SecretsKeyOptions): Promise<Secrets> {
  const known = await readState(store.reader, FINGERPRINT);
  // A database that has secrets must not get a new key, which could not open them.
  const found = key ?? (known === undefined ? await ensureKeyFile(dataDir) : await readKeyFile(dataDir));
  if (found === undefined) throw unusableKey(`there is no key, neither in HOLT_SECRETS_KEY nor in ${keyPath(dataDir)}`);
  const secrets = createSecrets(found);
  if ((await store.transaction((db) => decideState(db, FINGERPRINT, secrets.fingerprint))) !== secrets.fingerprint)
    throw unusableKey(`${key === undefined ? keyPath(dataDir) : "HOLT_SECRETS_KEY"} is not the key they were encrypted with`);
  return secrets;
}

/**
 * The bytes of the key, for a backup.
 * @returns undefined before the first start of a server
 * @throws Error if the key is lost, or not that of this database
 */
export async function findSecretsKey({ store, dataDir, key }: SecretsKeyOptions): Promise<Uint8Array | undefined> {
  const known = await readState(store.reader, FINGERPRINT);
  if (known === undefined) return undefined;
  const found = key ?? (await readKeyFile(dataDir));
  if (found === undefined) throw unusableKey(`there is no key, neither in HOLT_SECRETS_KEY nor in ${keyPath(dataDir)}`);
  if (createSecrets(found).fingerprint !== known) throw unusableKey("the key is not the one they were encrypted with");
  return found;
}

/**
 * @param text base64, with or without white space around it
 * @returns undefined if it is not a key
 */
export function parseSecretsKey(text: string): Uint8Array | undefined {
  const key = Buffer.from(text.trim(), "base64");
  return key.length === SECRETS_KEY_BYTES && key.toString("base64") === text.trim() ? key : undefined;
}

async function readKeyFile(dataDir: string): Promise<Uint8Array | undefined> {
  const text = await readFile(keyPath(dataDir), "utf8").catch((error: NodeJS.ErrnoException) => {
    if (error.code === "ENOENT") return undefined;
    throw new Error(`cannot read the secrets key: ${error.message}`, { cause: error });
  });
  if (text === undefined) return undefined;
  const key = parseSecretsKey(text);
  if (key === undefined) throw new Error(`${keyPath(dataDir)} does not hold the base64 of ${SECRETS_KEY_BYTES} bytes`);
  return key;
}

/** Creates the file if there is none. If several servers do so at the same time, all get the same key. */
async function ensureKeyFile(dataDir: string): Promise<Uint8Array | undefined> {
  const existing = await readKeyFile(dataDir);
  if (existing !== undefined) return existing;
  try {
    createFolders(dataDir);
    await createFile(keyPath(dataDir), `${randomBytes(SECRETS_KEY_BYTES).toString("base64")}\n`);
  } catch (error) {
    throw new Error(`cannot create the secrets key in ${dataDir}: ${(error as Error).message}`, { cause: error });
  }
  return readKeyFile(dataDir);
}

function keyPath(dataDir: string): string {
  return join(dataDir, "secrets.key");
}

function unusableKey(reason: string): Error {
  return new Error(
    `the secrets of this database cannot be decrypted: ${reason}. All servers of one database need the same key. If it is lost for good, ` +
      `delete the row "${FINGERPRINT}" of the table server_state, start again, and give each identity provider its client secret again`,
  );
}
