/**
 * The system's keyring: the Secret Service on Linux, the Keychain on macOS, the Credential Manager on Windows. Its native
 * package is loaded only when it is used, and may be missing.
 */
import { Failure } from "../failure.ts";

/** The name under which keyring programs show the entries. */
const SERVICE = "holt";
/** The other store of Linux forgets its entries when the user logs out. */
const OPTIONS = { linux: { store: "secret-service" } } as const;

/** @returns undefined if there is no such entry. Throws Failure if the keyring cannot be read. */
export async function readKeyring(account: string): Promise<string | undefined> {
  try {
    const bytes = await (await entryOf(account)).getSecret();
    return bytes === null ? undefined : Buffer.from(bytes).toString();
  } catch (error) {
    throw keyringFailure("read", error);
  }
}

/** Throws Failure if there is no keyring, or it refuses the secret: Windows keeps at most 2,560 bytes. */
export async function writeKeyring(account: string, secret: string): Promise<void> {
  try {
    // As bytes, because Windows would store each character of a password as two bytes.
    await (await entryOf(account)).setSecret(Buffer.from(secret));
  } catch (error) {
    throw keyringFailure("write", error);
  }
}

/** An entry that is not there is not an error. */
export async function deleteFromKeyring(account: string): Promise<void> {
  try {
    await (await entryOf(account)).deleteCredential();
  } catch (error) {
    throw keyringFailure("change", error);
  }
}

async function entryOf(account: string) {
  const { AsyncEntry } = await import("@napi-rs/keyring");
  return new AsyncEntry(SERVICE, account, OPTIONS);
}

function keyringFailure(action: string, error: unknown): Failure {
  const { code, message } = error as NodeJS.ErrnoException;
  const reason = code === "ERR_MODULE_NOT_FOUND" ? "the package @napi-rs/keyring is not installed" : message.split("\n")[0];
  return new Failure(`cannot ${action} the system's keyring: ${reason}`, {
    advice: "unlock the keyring, or keep the credential in a file: holt login URL --store file",
    cause: error,
  });
}
