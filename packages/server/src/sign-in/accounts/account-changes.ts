/** Makes the changes that a person asks for on the page of the own account. */
import type { WriteDb } from "../../db/store.ts";
import { NOTICES } from "../../iam/accounts/account-notices.ts";
import { lockAccount } from "../../iam/accounts/account-record.ts";
import { endSessions } from "../../iam/accounts/credentials.ts";
import { mailConfirmation } from "../../iam/accounts/email-confirmation.ts";
import { removePasskey, renamePasskey } from "../../iam/accounts/passkeys.ts";
import { HoltError } from "../../lib/errors.ts";
import type { BeginningBrowser } from "../browser.ts";
import { refusalFrom, SignInRefusal } from "../refusal.ts";
import type { SignInResult } from "../sign-in-result.ts";
import { passkeyName } from "./account-form-fields.ts";
import { type AccountPage, type CodesPage, type ManageStep, showAccountPage } from "./account-page.ts";
import type { AccountParts } from "./account-parts.ts";
import { addPasskey, changeApp, changePassword, removePassword, replaceCodes } from "./credential-changes.ts";
import { beginLink, removeLink } from "./link-changes.ts";
import { changeOpenAccount } from "./open-account.ts";
import type { AppPage } from "./set-up-page.ts";

const NO_MAIL = "No mail was sent: this address got too many within an hour, or it cannot get mails. Try again in an hour.";
const PASSKEY_REMOVED = { name: "passkey_removed", notice: NOTICES.passkeyRemoved } as const;

/** @throws SignInRefusal */
export async function changeAccount(
  step: ManageStep,
  form: URLSearchParams,
  by: BeginningBrowser,
  parts: AccountParts,
): Promise<AccountPage | AppPage | CodesPage | SignInResult> {
  try {
    return await change(step, form, by, parts);
  } catch (error) {
    // The person stays on the page, unless it is closed.
    const isProblem = (error instanceof SignInRefusal && error.status === 400) || error instanceof HoltError;
    if (!isProblem) throw error;
    const { status, message } = refusalFrom(error, parts.log);
    if (status >= 500) throw error;
    return showAccountPage(step.account.identityUid, by.browser, { problem: message }, parts);
  }
}

async function change(step: ManageStep, form: URLSearchParams, by: BeginningBrowser, parts: AccountParts) {
  const action = form.get("action") ?? "";
  switch (action) {
    case "recovery-codes":
      return replaceCodes(step, by, parts);
    case "link":
      return beginLink(step, form.get("provider") ?? "", by, parts);
    case "password":
      return changePassword(step, form, by, parts);
    case "app":
      return changeApp(step, by, parts);
    default: {
      const notice = await changeAtOnce(action, step, form, parts);
      return showAccountPage(step.account.identityUid, by.browser, { notice }, parts);
    }
  }
}

/** @returns what was done */
async function changeAtOnce(action: string, step: ManageStep, form: URLSearchParams, parts: AccountParts): Promise<string> {
  const { account } = step;
  const { identityUid } = account;
  const key = { identityUid, uid: form.get("passkey") ?? "" };
  const now = parts.clock.now();
  switch (action) {
    case "add-passkey":
      return addPasskey(step, form, parts);
    case "confirm-address":
      return confirmAddress(step, parts);
    case "rename-passkey": {
      const name = passkeyName(form.get("name") ?? "", now);
      await changeOpenAccount(account, { name: "passkey_renamed" }, (db) => renamePasskey(db, key, name), parts);
      return "The passkey was renamed.";
    }
    case "remove-passkey":
      await changeOpenAccount(account, PASSKEY_REMOVED, (db) => removePasskey(db, key), parts);
      return "The passkey was removed.";
    case "remove-link":
      return removeLink(step, form.get("link") ?? "", parts);
    case "remove-password":
      return removePassword(step, parts);
    case "end-sessions":
      await changeOpenAccount(account, { name: "sessions_ended" }, (db) => endSessions(db, identityUid, now), parts);
      return "You are signed out everywhere, and programs have lost their tokens.";
    default:
      throw new SignInRefusal(400, "The page sent an unknown answer. Open it again.");
  }
}

async function confirmAddress({ account }: ManageStep, parts: AccountParts): Promise<string> {
  const { identityUid } = account;
  const now = parts.clock.now();
  const sendMail = async (db: WriteDb) => {
    const { email, name, email_verified_time } = await lockAccount(db, identityUid);
    if (email === "" || email_verified_time !== null) throw new SignInRefusal(400, "There is no address to confirm.");
    if (!(await mailConfirmation(db, { identityUid, email, name, now }, parts))) throw new SignInRefusal(400, NO_MAIL);
  };
  await changeOpenAccount(account, undefined, sendMail, parts);
  return "The mail is on its way. Open the link in it.";
}
