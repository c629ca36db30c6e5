/** Links by which a person sets up a new way to sign in. An administrator or the operator makes one and passes it on. */
import { randomBytes } from "node:crypto";
import { lockState } from "../../db/server-state.ts";
import type { ReadDb, WriteDb } from "../../db/store.ts";
import { sha256Hex } from "../../lib/sha256.ts";
import { lockAccount } from "./account-record.ts";

export interface NewRecoveryLink {
  readonly identityUid: string;
  readonly resetsSecondFactor: boolean;
  /** Uid of the identity that makes the link; empty for the operator. */
  readonly creator: string;
  readonly expireTime: Date;
}

export interface RecoveryLink extends Pick<NewRecoveryLink, "identityUid" | "resetsSecondFactor" | "creator"> {
  readonly tokenHash: string;
  /** RFC 3339. */
  readonly expireTime: string;
}

/** Replaces the account's earlier links. @returns the token of the link, which is not stored @throws NOT_FOUND */
export async function createRecoveryLink(db: WriteDb, link: NewRecoveryLink, now: Date): Promise<string> {
  await lockAccount(db, link.identityUid);
  const token = randomBytes(32).toString("base64url");
  await db.deleteFrom("recovery_link").where("expire_time", "<=", now.toISOString()).execute();
  await db.deleteFrom("recovery_link").where("identity_uid", "=", link.identityUid).execute();
  const row = {
    token_hash: sha256Hex(token),
    identity_uid: link.identityUid,
    resets_second_factor: link.resetsSecondFactor ? 1 : 0,
    creator: link.creator,
    expire_time: link.expireTime.toISOString(),
  };
  await db.insertInto("recovery_link").values(row).execute();
  return token;
}

/** @returns undefined if the link does not exist, was used, or has expired */
export async function findRecoveryLink(db: ReadDb, tokenHash: string, now: Date): Promise<RecoveryLink | undefined> {
  const row = await db
    .selectFrom("recovery_link")
    .selectAll()
    .where("token_hash", "=", tokenHash)
    .where("expire_time", ">", now.toISOString())
    .executeTakeFirst();
  if (row === undefined) return undefined;
  return {
    tokenHash,
    identityUid: row.identity_uid,
    resetsSecondFactor: row.resets_second_factor === 1,
    creator: row.creator,
    expireTime: row.expire_time,
  };
}

/** Name of the state that a transaction locks before it makes a link or changes the rights of everybody. */
const MAKING = "recovery_link";

/**
 * Locks links against changes of the rights of everybody. An administrator's rights are compared afterwards, with the
 * account locked, so that `voidRecoveryLinks` either comes first or finds the link.
 */
export async function lockRecoveryLinks(db: WriteDb): Promise<void> {
  await lockState(db, MAKING, {});
}

/**
 * Deletes the links that administrators made for the people: their rights have changed, so the administrators may no longer have all of
 * them. Links of the operator stay.
 */
export async function voidRecoveryLinks(db: WriteDb, identityUids: readonly string[] | "*"): Promise<void> {
  const links = db.deleteFrom("recovery_link").where("creator", "<>", "");
  if (identityUids === "*") {
    await lockRecoveryLinks(db);
    await links.execute();
    return;
  }
  const uids = () => db.selectFrom(db.dialect.valuesOf(identityUids).as("v")).select("v.value");
  const accounts = db.selectFrom("local_account").select("identity_uid").where("identity_uid", "in", uids()).orderBy("identity_uid");
  await db.append(db.dialect.forUpdate(accounts).compile());
  await links.where("identity_uid", "in", uids()).execute();
}

/** Locks the link until the transaction ends, so that it can be spent later in it. @returns false if it cannot be used any more */
export async function lockRecoveryLink(db: WriteDb, tokenHash: string, now: Date): Promise<boolean> {
  const link = db.selectFrom("recovery_link").select("token_hash").where("token_hash", "=", tokenHash);
  return (await db.dialect.forUpdate(link.where("expire_time", ">", now.toISOString())).executeTakeFirst()) !== undefined;
}

/** The link must be locked. */
export async function spendRecoveryLink(db: WriteDb, tokenHash: string): Promise<void> {
  await db.deleteFrom("recovery_link").where("token_hash", "=", tokenHash).execute();
}

export function recoveryUrl(baseUrl: string, token: string): string {
  return `${baseUrl}/oauth/account/link?token=${token}`;
}
