/** Credentials by context: in the system's keyring, or in a file that only the user may read. */
import { randomUUID } from "node:crypto";
import { usageFailure } from "../failure.ts";
import { readJsonFile, withLock, writeJsonFile } from "./config-folder.ts";

export interface AccessToken {
  readonly token: string;
  /** RFC 3339; undefined if the token does not say. */
  readonly expiry?: string;
}

/** Gets new access tokens, if it can. */
export type Credential =
  /** An access token that nothing renews. */
  | { readonly kind: "access"; readonly access: AccessToken }
  /** A person who signed in. The server accepts each refresh token once. */
  | { readonly kind: "refresh"; readonly refreshToken: string; readonly access?: AccessToken }
  /** The bootstrap owner, by the server's own data folder. */
  | { readonly kind: "bootstrap"; readonly dataDir: string; readonly access?: AccessToken }
  /** A workload, by tokens of another issuer. */
  | { readonly kind: "workload"; readonly source: WorkloadSource; readonly identity: string; readonly access?: AccessToken };

export type WorkloadSource =
  | { readonly from: "github" }
  | { readonly from: "file"; readonly path: string }
  /** The credentials of AWS in the environment. */
  | { readonly from: "aws" }
  /** A key file of `holt workload create`. */
  | { readonly from: "key"; readonly path: string }
  | { readonly from: "variable"; readonly name: string };

/** Stands in the file for a credential that the keyring has under this account. */
interface InKeyring {
  readonly kind: "keyring";
  readonly account: string;
}

type Stored = Credential | InKeyring;

/** The place for a new credential. Undefined is the keyring if there is one, and the file otherwise. */
export type CredentialStore = "keyring" | "file" | undefined;

const FILE = "credentials.json";

export async function readCredential(context: string): Promise<Credential | undefined> {
  const stored = readStored(context);
  if (stored?.kind !== "keyring") return stored;
  const { readKeyring } = await import("./keyring.ts");
  const secret = await readKeyring(stored.account);
  return secret === undefined ? undefined : (JSON.parse(secret) as Credential);
}

/** Does not ask the keyring, which may have lost the credential. */
export function hasCredential(context: string): boolean {
  return readStored(context) !== undefined;
}

export async function writeCredential(context: string, credential: Credential, store: CredentialStore): Promise<void> {
  await withCredentialLock(async () => {
    if (store === "file") return saveInFile(context, credential);
    try {
      await saveInKeyring(context, credential);
    } catch (error) {
      if (store === "keyring") throw error;
      await saveInFile(context, credential);
    }
  });
}

export async function deleteCredential(context: string): Promise<void> {
  await withCredentialLock(async () => {
    const stored = readStored(context);
    writeStored(context, undefined);
    if (stored?.kind === "keyring") await (await import("./keyring.ts")).deleteFromKeyring(stored.account);
  });
}

/** Keeps a renewed credential where it was. For a caller that holds the lock. */
export async function saveCredential(context: string, credential: Credential): Promise<void> {
  if (readStored(context)?.kind !== "keyring") return writeStored(context, credential);
  // The server accepts no refresh token before this one, so it must be kept even if the keyring is gone.
  await saveInKeyring(context, credential).catch(() => writeStored(context, credential));
}

/** Renews a credential: only one process does it at a time, because a refresh token is valid once. */
export function withCredentialLock<T>(work: () => Promise<T>): Promise<T> {
  return withLock("credentials", work);
}

/** @param flag the choice of this command, which wins over that of the environment */
export function chooseStore(flag: string | undefined): CredentialStore {
  const store = flag ?? (process.env.HOLT_CREDENTIAL_STORE || undefined);
  if (store === undefined || store === "keyring" || store === "file") return store;
  throw usageFailure(`HOLT_CREDENTIAL_STORE: "${store}" must be keyring or file`);
}

async function saveInKeyring(context: string, credential: Credential): Promise<void> {
  const { writeKeyring } = await import("./keyring.ts");
  const stored = readStored(context);
  // Contexts of other folders may have the same name.
  const account = stored?.kind === "keyring" ? stored.account : `${context} ${randomUUID()}`;
  await writeKeyring(account, JSON.stringify(credential));
  if (stored?.kind !== "keyring") writeStored(context, { kind: "keyring", account });
}

async function saveInFile(context: string, credential: Credential): Promise<void> {
  const before = readStored(context);
  writeStored(context, credential);
  if (before?.kind !== "keyring") return;
  const { deleteFromKeyring } = await import("./keyring.ts");
  // If this fails, the keyring keeps an entry that nothing names.
  await deleteFromKeyring(before.account).catch(() => {});
}

function readStored(context: string): Stored | undefined {
  const { contexts } = read();
  return Object.hasOwn(contexts, context) ? contexts[context] : undefined;
}

/** Removes the entry if it is undefined. */
function writeStored(context: string, stored: Stored | undefined): void {
  const { [context]: _old, ...others } = read().contexts;
  writeJsonFile(FILE, { contexts: stored === undefined ? others : { ...others, [context]: stored } });
}

function read(): { contexts: Readonly<Record<string, Stored>> } {
  return readJsonFile(FILE, { contexts: {} });
}
