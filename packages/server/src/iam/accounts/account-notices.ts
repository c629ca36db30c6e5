/** Mails people what happened to their accounts, so that they notice what they did not do themselves. */
import type { WriteDb } from "../../db/store.ts";
import type { Mailer } from "../../mail/mail.ts";
import type { LocalAccountTable } from "../tables.ts";
import { findAccount, findAccountsByEmail } from "./account-record.ts";

export interface NoticeParts {
  readonly mailer: Mailer;
  /** Public URL of this server. */
  readonly baseUrl: string;
}

export interface AccountNotice {
  readonly identityUid: string;
  /** One sentence that says what happened. */
  readonly event: string;
  readonly now: Date;
}

/** Sentences about changes that people make in a browser or by the API. */
export const NOTICES = {
  passkeyAdded: "A passkey was added to your account.",
  passkeyRemoved: "A passkey was removed from your account.",
  passwordChanged: "The password of your account was changed.",
  passwordAdded: "A password and an authenticator app were added to your account.",
  appReplaced: "The authenticator app of your account was replaced.",
  passwordRemoved: "The password and the authenticator app of your account were removed.",
  codesReplaced: "The recovery codes of your account were replaced.",
  addressShared: "Another account was created, or got a password, with the email address of your account. Your account is not affected.",
  linkCreated: "An administrator or the operator made a link by which your account can be recovered.",
  disabled: "An administrator disabled your account. Nobody can sign in with it.",
};

/**
 * Promises the mail in the transaction of the change. Only a confirmed or invited address gets mails: anybody can write
 * the address of somebody else into a form.
 */
export async function mailAccountNotice(db: WriteDb, notice: AccountNotice, parts: NoticeParts): Promise<void> {
  if (!parts.mailer.isConfigured) return;
  const account = await findAccount(db, notice.identityUid);
  if (account === undefined || account.email === "") return;
  const isConfirmed = account.email_verified_time !== null;
  if (!isConfirmed && account.email_within === null) return;
  const { host } = new URL(parts.baseUrl);
  const text = noticeText(account, notice, parts.baseUrl);
  // Mails that others cause must not use up the limit for the notices of a confirmed address.
  const limitedBy = isConfirmed ? `account/${notice.identityUid}` : undefined;
  await parts.mailer.append(db, { to: account.email, subject: `Your account on ${host}`, text, limitedBy, now: notice.now });
}

/** Tells the other accounts with the address of an account. The person who wrote the address gets no hint of them. */
export async function mailOthersWithAddress(
  db: WriteDb,
  { identityUid, email, now }: { readonly identityUid: string; readonly email: string; readonly now: Date },
  parts: NoticeParts,
): Promise<void> {
  if (!parts.mailer.isConfigured) return;
  for (const other of await findAccountsByEmail(db, email))
    if (other.identity_uid !== identityUid)
      await mailAccountNotice(db, { identityUid: other.identity_uid, event: NOTICES.addressShared, now }, parts);
}

function noticeText({ name, email }: LocalAccountTable, { event, now }: AccountNotice, baseUrl: string): string {
  return `${event}

Account: ${name === "" ? email : `${name}, ${email}`}
Server: ${new URL(baseUrl).host}
Time: ${now.toISOString().slice(0, 16).replace("T", " ")} UTC

If this was you, or you know about it, you need not do anything.

If it was not you, open your account, sign out everywhere, remove passkeys that you do not know, change the password and make new recovery codes:

${baseUrl}/oauth/account

If you cannot sign in, use a recovery code or ask an administrator of your organization at once.`;
}
