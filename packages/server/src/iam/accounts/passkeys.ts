/** Stores passkeys. webauthn.ts verifies their signatures. */
import type { ReadDb, WriteDb } from "../../db/store.ts";
import { failedPrecondition, notFound } from "../../lib/errors.ts";
import { newUid } from "../../lib/uid.ts";
import type { PasskeyTable } from "../tables.ts";
import { lockAccount } from "./account-record.ts";

/** A passkey as it is stored. */
export type StoredPasskey = PasskeyTable;

/** A passkey that a browser has just made. */
export interface NewPasskey {
  readonly credentialId: string;
  /** COSE key, base64url. */
  readonly publicKey: string;
  readonly signCount: number;
  readonly transports: readonly string[];
  readonly name: string;
}

const MAX_PASSKEYS = 20;
/** In place of the counter of a passkey that was copied. No counter is greater than this and smaller than zero. */
const REFUSED = -1;

export function passkeysOf(db: ReadDb, identityUid: string): Promise<PasskeyTable[]> {
  return db.selectFrom("passkey").selectAll().where("identity_uid", "=", identityUid).orderBy("create_time").orderBy("uid").execute();
}

export function findPasskey(db: ReadDb, credentialId: string): Promise<PasskeyTable | undefined> {
  return db.selectFrom("passkey").selectAll().where("credential_id", "=", credentialId).executeTakeFirst();
}

/** The account must be locked. @throws FAILED_PRECONDITION if the account has too many, or if the passkey is registered already */
export async function insertPasskey(db: WriteDb, identityUid: string, passkey: NewPasskey, now: Date): Promise<PasskeyTable> {
  if ((await passkeysOf(db, identityUid)).length >= MAX_PASSKEYS)
    throw failedPrecondition("TOO_MANY_PASSKEYS", `an account has at most ${MAX_PASSKEYS} passkeys; remove one first`);
  const row = {
    credential_id: passkey.credentialId,
    uid: newUid(""),
    identity_uid: identityUid,
    public_key: passkey.publicKey,
    sign_count: passkey.signCount,
    transports: JSON.stringify(passkey.transports),
    name: passkey.name,
    create_time: now.toISOString(),
    last_use_time: null,
  };
  const { numInsertedOrUpdatedRows } = await db
    .insertInto("passkey")
    .values(row)
    .onConflict((conflict) => conflict.column("credential_id").doNothing())
    .executeTakeFirstOrThrow();
  if (numInsertedOrUpdatedRows !== 1n) throw failedPrecondition("PASSKEY_EXISTS", "this passkey is registered already");
  return row;
}

/**
 * Stores the authenticator's counter, unless a use with the same or a higher counter was stored meanwhile.
 * @returns false for a counter that went back: two authenticators have the same passkey (WebAuthn §6.1.1); also for a
 * passkey that is refused since then
 */
export async function recordPasskeyUse(db: WriteDb, credentialId: string, signCount: number, now: Date): Promise<boolean> {
  const { numUpdatedRows } = await db
    .updateTable("passkey")
    .set({ sign_count: signCount, last_use_time: now.toISOString() })
    .where("credential_id", "=", credentialId)
    .where((where) => (signCount === 0 ? where("sign_count", "=", 0) : where.between("sign_count", 0, signCount - 1)))
    .executeTakeFirst();
  return numUpdatedRows === 1n;
}

/** Whichever copy is used next, the passkey is refused until it is removed. */
export async function refusePasskey(db: WriteDb, credentialId: string): Promise<void> {
  await db.updateTable("passkey").set({ sign_count: REFUSED }).where("credential_id", "=", credentialId).execute();
}

export function isRefused({ sign_count }: PasskeyTable): boolean {
  return sign_count === REFUSED;
}

/** @throws NOT_FOUND */
export async function renamePasskey(db: WriteDb, key: PasskeyKey, name: string): Promise<void> {
  const { numUpdatedRows } = await db
    .updateTable("passkey")
    .set({ name })
    .where("uid", "=", key.uid)
    .where("identity_uid", "=", key.identityUid)
    .executeTakeFirst();
  if (numUpdatedRows !== 1n) throw notFound("Passkey", key.uid.slice(0, 200));
}

export interface PasskeyKey {
  readonly identityUid: string;
  readonly uid: string;
}

/** @throws NOT_FOUND; FAILED_PRECONDITION if the person could then no longer sign in */
export async function removePasskey(db: WriteDb, { identityUid, uid }: PasskeyKey): Promise<void> {
  const account = await lockAccount(db, identityUid);
  const passkeys = await passkeysOf(db, identityUid);
  if (!passkeys.some((each) => each.uid === uid)) throw notFound("Passkey", uid.slice(0, 200));
  const hasAnother = passkeys.some((each) => each.uid !== uid && !isRefused(each));
  if (!hasAnother && account.password_hash === null)
    throw failedPrecondition("LAST_WAY_IN", "this passkey is the only way into the account; add another one or a password first");
  await db.deleteFrom("passkey").where("uid", "=", uid).execute();
}
