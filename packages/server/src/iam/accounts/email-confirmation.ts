/**
 * Confirms the email address of a local account by a link that is mailed to it. A confirmed address counts everywhere,
 * like that of an issuer that the operator trusts.
 */
import type { ReadDb, WriteDb } from "../../db/store.ts";
import { isRecord } from "../../lib/is-record.ts";
import type { Mailer } from "../../mail/mail.ts";
import type { EventNames } from "../../outbox/outbox.ts";
import type { Secrets } from "../secrets/secrets.ts";
import type { LocalAccountTable } from "../tables.ts";
import { appendAccountEvent } from "./account-events.ts";
import { findAccount, lockAccount } from "./account-record.ts";

export interface ConfirmationParts {
  readonly mailer: Mailer;
  readonly secrets: Secrets;
  readonly names: EventNames;
  readonly baseUrl: string;
}

export interface UnconfirmedAddress {
  readonly identityUid: string;
  readonly email: string;
  readonly name: string;
  /** Uid of the organization whose limit of mails counts; left out if the person asks for the mail. */
  readonly organization?: string;
  readonly now: Date;
}

const LIFETIME_MS = 72 * 3_600_000;
const CONTEXT = "local account/email confirmation";
const MAX_TOKEN_LENGTH = 4096;

/**
 * Promises the mail. The link works once: with the confirmation, the account no longer has an unconfirmed address.
 * @returns false without a mail server
 */
export async function mailConfirmation(db: WriteDb, address: UnconfirmedAddress, parts: ConfirmationParts): Promise<boolean> {
  const { identityUid, email, name, organization, now } = address;
  const { mailer, secrets, baseUrl } = parts;
  if (!mailer.isConfigured) return false;
  const expireTime = new Date(now.getTime() + LIFETIME_MS);
  const token = secrets.seal(JSON.stringify({ identityUid, email, expiry: expireTime.getTime() }), CONTEXT);
  const { host } = new URL(baseUrl);
  const text = `The account “${name}” was created on ${host} with your email address. If you created it, confirm the address:

${baseUrl}/oauth/account/confirm?token=${token}

The link is valid for three days and works once.

If you did not create this account, do not open the link: the account would count as yours. Ignore this mail.`;
  return mailer.append(db, {
    to: email,
    subject: `Confirm your email address on ${host}`,
    text,
    expireTime,
    now,
    ...(organization !== undefined && { organization }),
  });
}

/** The account whose address the token confirms. Undefined for a token that is wrong, too old or used. */
export async function findUnconfirmed(db: ReadDb, token: string, now: Date, secrets: Secrets): Promise<LocalAccountTable | undefined> {
  const content = openToken(token, secrets);
  if (content === undefined || content.expiry <= now.getTime()) return undefined;
  const account = await findAccount(db, content.identityUid);
  return account !== undefined && isUnconfirmed(account, content.email) ? account : undefined;
}

/** @returns the account; undefined as `findUnconfirmed` */
export async function confirmEmail(
  db: WriteDb,
  token: string,
  now: Date,
  parts: ConfirmationParts,
): Promise<LocalAccountTable | undefined> {
  const found = await findUnconfirmed(db, token, now, parts.secrets);
  if (found === undefined) return undefined;
  const { identity_uid: identityUid, email } = found;
  const account = await lockAccount(db, identityUid);
  if (!isUnconfirmed(account, email)) return undefined;
  const time = now.toISOString();
  await db
    .updateTable("local_account")
    .set({ email_verified_time: time, update_time: time })
    .where("identity_uid", "=", identityUid)
    .execute();
  await appendAccountEvent(db, { name: "email_confirmed", identityUid, now }, parts);
  return account;
}

function isUnconfirmed(account: LocalAccountTable, email: string): boolean {
  return account.email === email && account.email_verified_time === null && account.disabled_time === null;
}

interface TokenContent {
  readonly identityUid: string;
  readonly email: string;
  readonly expiry: number;
}

function openToken(token: string, secrets: Secrets): TokenContent | undefined {
  try {
    const content: unknown = token.length > MAX_TOKEN_LENGTH ? undefined : JSON.parse(secrets.open(token, CONTEXT));
    return isRecord(content) ? (content as unknown as TokenContent) : undefined;
  } catch {
    return undefined;
  }
}
