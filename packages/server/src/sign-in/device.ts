/** The device authorization grant (RFC 8628): devices that wait for a person, and what they get. */
import { randomInt } from "node:crypto";
import type { ReadDb, Store, WriteDb } from "../db/store.ts";
import type { StoredLogin } from "../iam/tokens/login-token.ts";
import { hashOf, randomText } from "./pending.ts";
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
/** Clocks and networks make who asks on time a little early. */
const EARLY_MS = 500;
/** RFC 8628 §6.1: no vowels, so no words, and nothing that is taken for another letter. */
const LETTERS = "BCDFGHJKLMNPQRSTVWXZ";
const USER_CODE_LENGTH = 8;

/** Clears away what has expired, too. */
export async function insertDevice(db: WriteDb, clientId: string, now: Date): Promise<NewDevice> {
  await db.deleteFrom("device_login").where("expire_time", "<=", now.toISOString()).execute();
  const deviceCode = randomText();
  // One in 10^10 is taken already; whoever meets it is answered with an error and asks again.
  const userCode = Array.from({ length: USER_CODE_LENGTH }, () => LETTERS[randomInt(LETTERS.length)]).join("");
  const row = {
    device_hash: hashOf(deviceCode),
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
  return { deviceCode, userCode: shownCode(userCode), expiresInSeconds: LIFETIME_SECONDS, intervalSeconds: INTERVAL_SECONDS };
}

export function shownCode(userCode: string): string {
  return `${userCode.slice(0, 4)}-${userCode.slice(4)}`;
}

/** The device that waits with this code, however it was typed. */
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

/** @param login undefined where the person refuses. @returns whether the device still waited */
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

/** What a device that asks gets: who signed it in, once, or how it stands. */
export function pollDevice(store: Store, deviceCode: string, clientId: string, now: Date): Promise<StoredLogin | PollProblem> {
  return store.transaction(async (db) => {
    const query = db
      .selectFrom("device_login")
      .selectAll()
      .where("device_hash", "=", hashOf(deviceCode))
      .where("client_id", "=", clientId)
      .where("expire_time", ">", now.toISOString());
    const row = await db.dialect.forUpdate(query).executeTakeFirst();
    if (row === undefined) return "expired_token";
    if (row.state === "pending") return notYet(db, row, now);
    await db.deleteFrom("device_login").where("device_hash", "=", row.device_hash).execute();
    return row.login === null ? "access_denied" : (JSON.parse(row.login) as StoredLogin);
  });
}

/** RFC 8628 §3.5: who asks too often waits five seconds longer from then on. */
async function notYet(db: WriteDb, row: DeviceLoginTable, now: Date): Promise<PollProblem> {
  const isTooSoon = row.poll_time !== null && now.getTime() - Date.parse(row.poll_time) < row.interval_seconds * 1000 - EARLY_MS;
  const interval = row.interval_seconds + (isTooSoon ? INTERVAL_SECONDS : 0);
  await db
    .updateTable("device_login")
    .set({ poll_time: now.toISOString(), interval_seconds: interval })
    .where("device_hash", "=", row.device_hash)
    .execute();
  return isTooSoon ? "slow_down" : "authorization_pending";
}
