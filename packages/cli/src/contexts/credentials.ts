/** Credentials by context, in a file that only the user may read. */
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

const FILE = "credentials.json";

export function readCredential(context: string): Credential | undefined {
  const { contexts } = read();
  return Object.hasOwn(contexts, context) ? contexts[context] : undefined;
}

/** Removes the credential if it is undefined. */
export async function writeCredential(context: string, credential: Credential | undefined): Promise<void> {
  await withLock("credentials", async () => saveCredential(context, credential));
}

/** For a caller that holds the lock. */
export function saveCredential(context: string, credential: Credential | undefined): void {
  const { [context]: _old, ...others } = read().contexts;
  writeJsonFile(FILE, { contexts: credential === undefined ? others : { ...others, [context]: credential } });
}

/** Renews a credential: only one process does it at a time, because a refresh token is valid once. */
export function withCredentialLock<T>(work: () => Promise<T>): Promise<T> {
  return withLock("credentials", work);
}

function read(): { contexts: Readonly<Record<string, Credential>> } {
  return readJsonFile(FILE, { contexts: {} });
}
