/** Records which login tokens have been exchanged: each can be exchanged once. */
import type { WriteDb } from "../../db/store.ts";
import { unauthenticated } from "../../lib/errors.ts";

/** A login token that an exchange is about to spend. */
export interface SpendableToken {
  /** SHA-256 of the token, hexadecimal. */
  readonly hash: string;
  readonly expiry: Date;
}

/** The clock of another server may be behind, so that it still accepts a token that has expired here. */
const KEPT_MS = 10 * 60_000;

/**
 * Also deletes the records of expired tokens. One of two concurrent transactions succeeds.
 * @throws UNAUTHENTICATED if the token was already spent
 */
export async function spendLoginToken(db: WriteDb, { hash, expiry }: SpendableToken, now: Date): Promise<void> {
  await db.deleteFrom("spent_login_token").where("expire_time", "<=", now.toISOString()).execute();
  const { numInsertedOrUpdatedRows } = await db
    .insertInto("spent_login_token")
    .values({ token_hash: hash, expire_time: new Date(expiry.getTime() + KEPT_MS).toISOString() })
    .onConflict((conflict) => conflict.column("token_hash").doNothing())
    .executeTakeFirstOrThrow();
  if (numInsertedOrUpdatedRows !== 1n) throw unauthenticated("the sign-in token was already used; sign in again");
}
