/** Stores devices that wait for a person to sign them in (RFC 8628), and hands them the login. */
import { randomInt } from "node:crypto";
import type { ReadDb, Store, WriteDb } from "../db/store.ts";
import type { StoredLogin } from "../iam/tokens/login-token.ts";
import { hashSecret, randomSecret } from "./pending.ts";
import type { DeviceLoginTable } from "./tables.ts";

export interface NewDevice {
  readonly deviceCode: string;
  /** With its hyphen. */
  readonly userCode: string;
  readonly expiresInSeconds: number;
  readonly intervalSeconds: number;
}

/** RFC 8628 §3.5. */
export type PollProblem = "authorization_pending" | "slow_down" | "access_denied" | "expired_token";

export type WaitingDevice = Pick<DeviceLoginTable, "device_hash" | "user_code" | "client_id">;

const LIFETIME_SECONDS = 600;
const INTERVAL_SECONDS = 5;
/** Tolerates polls that come slightly early because of clocks and networks. */
const POLL_TOLERANCE_MS = 500;
/** RFC 8628 §6.1: no vowels, so that no words form, and no letters that look alike. */
const USER_CODE_LETTERS = "BCDFGHJKLMNPQRSTVWXZ";
const USER_CODE_LENGTH = 8;

/** Also deletes expired devices. */
export async function insertDevice(db: WriteDb, clientId: string, now: Date): Promise<NewDevice> {
  await db.deleteFrom("device_login").where("expire_time", "<=", now.toISOString()).execute();
  const deviceCode = randomSecret();
  // A code is taken with a probability of about 1 in 10^10; the insert then fails and the program tries again.
  const userCode = Array.from({ length: USER_CODE_LENGTH }, () => USER_CODE_LETTERS[randomInt(USER_CODE_LETTERS.length)]).join("");
  const row = {
    device_hash: hashSecret(deviceCode),
    user_code: userCode,
    client_id: clientId,
    state: "pending" as const,
    identity_uid: null,
    login: null,
    poll_time: null,
    interval_seconds: INTERVAL_SECONDS,
    create_time: now.toISOString(),
    expire_time: new Date(now.getTime() + LIFETIME_SECONDS * 1000).toISOString(),
  };
  await db.insertInto("device_login").values(row).execute();
  return { deviceCode, userCode: formatUserCode(userCode), expiresInSeconds: LIFETIME_SECONDS, intervalSeconds: INTERVAL_SECONDS };
}

export function formatUserCode(userCode: string): string {
  return `${userCode.slice(0, 4)}-${userCode.slice(4)}`;
}

/** Finds the waiting device by its user code, ignoring case and punctuation. */
export async function findDevice(db: ReadDb, typed: string, now: Date): Promise<WaitingDevice | undefined> {
  const userCode = typed.toUpperCase().replace(/[^A-Z]/g, "");
  if (userCode.length !== USER_CODE_LENGTH) return undefined;
  return db
    .selectFrom("device_login")
    .select(["device_hash", "user_code", "client_id"])
    .where("user_code", "=", userCode)
    .where("state", "=", "pending")
    .where("expire_time", ">", now.toISOString())
    .executeTakeFirst();
}

/**
 * @param login undefined if the person declines
 * @returns false if the device no longer waits
 */
export async function decideDevice(db: WriteDb, deviceHash: string, login: StoredLogin | undefined, now: Date): Promise<boolean> {
  const decision =
    login === undefined
      ? { state: "denied" as const }
      : { state: "approved" as const, identity_uid: login.identityUid, login: JSON.stringify(login) };
  const { numUpdatedRows } = await db
    .updateTable("device_login")
    .set(decision)
    .where("device_hash", "=", deviceHash)
    .where("state", "=", "pending")
    .where("expire_time", ">", now.toISOString())
    .executeTakeFirst();
  return numUpdatedRows === 1n;
}

/** @returns the login, which can be fetched once, or why there is none */
export function pollDevice(store: Store, deviceCode: string, clientId: string, now: Date): Promise<StoredLogin | PollProblem> {
  return store.transaction(async (db) => {
    const query = db
      .selectFrom("device_login")
      .selectAll()
      .where("device_hash", "=", hashSecret(deviceCode))
      .where("client_id", "=", clientId)
      .where("expire_time", ">", now.toISOString());
    const row = await db.dialect.forUpdate(query).executeTakeFirst();
    if (row === undefined) return "expired_token";
    if (row.state === "pending") return recordPoll(db, row, now);
    await db.deleteFrom("device_login").where("device_hash", "=", row.device_hash).execute();
    return row.login === null ? "access_denied" : (JSON.parse(row.login) as StoredLogin);
  });
}

/** RFC 8628 §3.5: a device that polls too often must wait five seconds longer from then on. */
async function recordPoll(db: WriteDb, row: DeviceLoginTable, now: Date): Promise<PollProblem> {
  const isTooSoon = row.poll_time !== null && now.getTime() - Date.parse(row.poll_time) < row.interval_seconds * 1000 - POLL_TOLERANCE_MS;
  const interval = row.interval_seconds + (isTooSoon ? INTERVAL_SECONDS : 0);
  await db
    .updateTable("device_login")
    .set({ poll_time: now.toISOString(), interval_seconds: interval })
    .where("device_hash", "=", row.device_hash)
    .execute();
  return isTooSoon ? "slow_down" : "authorization_pending";
}
