/** Finds and changes the account whose page is open. */
import type { ReadDb, WriteDb } from "../../db/store.ts";
import { type AccountEvent, appendAccountEvent } from "../../iam/accounts/account-events.ts";
import { accountVersion, findAccount, type LocalAccount, lockAccount, updateAccount } from "../../iam/accounts/account-record.ts";
import { SignInRefusal } from "../refusal.ts";
import type { AccountParts } from "./account-parts.ts";
import type { OpenAccount } from "./account-step.ts";

export const CLOSED_PAGE = "Your account has changed in the meantime, or is disabled. Sign in again.";

/** @returns undefined for an account that does not exist or is disabled */
export async function findOpenAccount(db: ReadDb, identityUid: string): Promise<LocalAccount | undefined> {
  const account = await findAccount(db, identityUid);
  return account?.disabled_time === null ? account : undefined;
}

/**
 * Runs a change of an account that nobody has changed since its page was shown.
 * @returns the result of `work`, and `update_time` of the account after it
 */
export function changeOpenAccount<T>(
  { identityUid, version }: OpenAccount,
  event: Pick<AccountEvent, "name" | "notice"> | undefined,
  work: (db: WriteDb) => Promise<T>,
  parts: AccountParts,
): Promise<{ readonly result: T; readonly version: string }> {
  const now = parts.clock.now();
  return parts.store.transaction(async (db) => {
    const account = await lockAccount(db, identityUid);
    if (account.update_time !== version || account.disabled_time !== null) throw new SignInRefusal(409, CLOSED_PAGE);
    const result = await work(db);
    await updateAccount(db, identityUid, {}, now);
    if (event !== undefined) await appendAccountEvent(db, { ...event, identityUid, now }, parts);
    return { result, version: await accountVersion(db, identityUid) };
  });
}
