/** Reads pull tokens by their passwords, and writes passwords. Only keyed hashes of passwords are stored. */
import { randomBytes } from "node:crypto";
import { capabilitySetFromHex } from "../../access/capability-set.ts";
import type { ProviderSession } from "../../access/principal.ts";
import { ROW } from "../../db/lookup.ts";
import { type Placeholders, prepare } from "../../db/prepared.ts";
import type { ReadDb, WriteDb } from "../../db/store.ts";

/** The identity that created a pull token, as far as its present rights depend on it. */
export interface Creator {
  readonly uid: string;
  /** For a person: when the account was registered. An account that is registered anew is another one. */
  readonly registered?: string | undefined;
  /** The provider's directory, from whose groups a person may have rights. */
  readonly session?: ProviderSession | undefined;
}

/** A pull token, found by one of its passwords. */
export interface PullTokenRecord {
  readonly uid: string;
  readonly name: string;
  readonly groupUid: string;
  readonly capabilities: bigint;
  /** Patterns; empty for all repositories of the group. */
  readonly repositories: readonly string[];
  /** Undefined for an independent token. */
  readonly creator: Creator | undefined;
  /** Id of the password. */
  readonly secretId: string;
  /** When the password expires. */
  readonly expireTime: string;
}

/** The token of the password with this hash, whether or not it has expired. */
export async function findByPassword(db: ReadDb, hash: string): Promise<PullTokenRecord | undefined> {
  return recordFromRow(await recordByPassword.first(db, { hash }));
}

/** The same token, as long as the password has not been revoked. */
export async function findBySecret(db: ReadDb, uid: string, secretId: string): Promise<PullTokenRecord | undefined> {
  return recordFromRow(await recordBySecret.first(db, { uid, secretId }));
}

/** The token with its current password, whether or not it has expired. */
export async function findByUid(db: ReadDb, uid: string): Promise<PullTokenRecord | undefined> {
  return recordFromRow(await selectRecords(db).where("token.uid", "=", uid).where("secret.is_current", "=", 1).executeTakeFirst());
}

export function selectByPassword(db: ReadDb, hash: string) {
  return selectRecords(db).where("secret.password_hash", "=", hash);
}

export function selectBySecret(db: ReadDb, uid: string, secretId: string) {
  return selectRecords(db).where("secret.pull_token_uid", "=", uid).where("secret.id", "=", secretId);
}

function selectRecords(db: ReadDb) {
  return db
    .selectFrom("pull_token_secret as secret")
    .innerJoin("pull_token as token", "token.uid", "secret.pull_token_uid")
    .select(["token.uid", "token.name", "token.parent", "token.capabilities", "token.repositories", "token.independent"])
    .select(["token.creator", "token.creator_session", "secret.id", "secret.expire_time"]);
}

type Row = Awaited<ReturnType<ReturnType<typeof selectRecords>["executeTakeFirst"]>>;

/** Each call and each pull with a pull token runs these. */
const recordByPassword = prepare((db, param: Placeholders<{ hash: string }>) => selectByPassword(db, param("hash")).compile(), {
  weight: ROW,
});
const recordBySecret = prepare(
  (db, param: Placeholders<{ uid: string; secretId: string }>) => selectBySecret(db, param("uid"), param("secretId")).compile(),
  { weight: ROW },
);

function recordFromRow(row: Row): PullTokenRecord | undefined {
  if (row === undefined) return undefined;
  const creator = { uid: row.creator, ...(JSON.parse(row.creator_session) as Omit<Creator, "uid">) };
  return {
    uid: row.uid,
    name: row.name,
    groupUid: row.parent ?? "",
    capabilities: capabilitySetFromHex(row.capabilities),
    repositories: JSON.parse(row.repositories) as string[],
    creator: row.independent === 1 ? undefined : creator,
    secretId: row.id,
    expireTime: row.expire_time,
  };
}

/** A password that is to be stored for a token. */
export interface NewPassword {
  readonly hash: string;
  readonly expireTime: Date;
}

export async function insertPassword(db: WriteDb, uid: string, { hash, expireTime }: NewPassword): Promise<void> {
  const id = randomBytes(8).toString("hex");
  const row = { password_hash: hash, id, pull_token_uid: uid, is_current: 1, expire_time: expireTime.toISOString() };
  await db.insertInto("pull_token_secret").values(row).execute();
}

/** Keeps the current password until the end, unless it expires earlier, and no older one. */
export async function retirePasswords(db: WriteDb, uid: string, end: Date, now: Date): Promise<void> {
  const ofToken = db.deleteFrom("pull_token_secret").where("pull_token_uid", "=", uid);
  if (end <= now) {
    await ofToken.execute();
    return;
  }
  await ofToken.where("is_current", "=", 0).execute();
  const time = end.toISOString();
  await db
    .updateTable("pull_token_secret")
    .set(({ case: when, ref }) => ({
      is_current: 0,
      expire_time: when().when("expire_time", "<", time).then(ref("expire_time")).else(time).end(),
    }))
    .where("pull_token_uid", "=", uid)
    .execute();
}
