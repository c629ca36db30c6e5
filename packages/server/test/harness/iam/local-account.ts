/** Gives a registered person an account of the server, with a password and two passkeys that no authenticator has. */
import { insertAccount, newSubject, newUserHandle, updateAccount } from "../../../src/iam/accounts/account-record.ts";
import { insertPasskey } from "../../../src/iam/accounts/passkeys.ts";
import { createPasswordHashes } from "../../../src/iam/accounts/password-hash.ts";
import type { World } from "../world.ts";

export const LOCAL_PASSWORD = "correct horse battery staple";

/** @returns the uid of a passkey */
export async function addLocalAccount({ store, clock }: Pick<World, "store" | "clock">, uid: string, isDisabled = false): Promise<string> {
  const now = clock.now();
  const email = `${uid.slice(0, 12)}@example.test`;
  const draft = { subject: newSubject(), userHandle: newUserHandle(), email, emailWithin: undefined, name: "Ada" };
  const hash = await createPasswordHashes().hash(LOCAL_PASSWORD, "");
  return store.transaction(async (db) => {
    await insertAccount(db, uid, draft, now);
    await updateAccount(db, uid, { password_hash: hash, email_key: email, disabled_time: isDisabled ? now.toISOString() : null }, now);
    const passkey = { publicKey: "AA", signCount: 0, transports: [], name: "laptop" };
    await insertPasskey(db, uid, { ...passkey, credentialId: newUserHandle() }, now);
    return (await insertPasskey(db, uid, { ...passkey, credentialId: newUserHandle() }, now)).uid;
  });
}
