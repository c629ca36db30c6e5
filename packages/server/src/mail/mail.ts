/**
 * Mails that the server sends to people. A mail is appended in the transaction that promises it, and sent in the
 * background at least once (mail-worker.ts).
 */
import { randomBytes } from "node:crypto";
import type { ReadDb, WriteDb } from "../db/store.ts";
import { RELEASED } from "../jobs/lease.ts";
import { isMailAddress } from "../lib/mail-address.ts";
import "./tables.ts";

export interface Mail {
  readonly to: string;
  readonly subject: string;
  /** Plain text: paragraphs with an empty line between them. A line that is a URL becomes a link in the HTML part. */
  readonly text: string;
}

export interface MailToSend extends Mail {
  /** Uid of the organization that causes the mail; left out for mails about a person's own account. */
  readonly organization?: string;
  /** Counts the recipient's limit apart from other mails to the address; left out to count with them. */
  readonly limitedBy?: string | undefined;
  /** When the mail is of no use any more, such as the expiry of a link in it; after three days at the latest. */
  readonly expireTime?: Date | undefined;
  readonly now: Date;
}

export interface Mailer {
  /** Whether the operator has configured a mail server. */
  readonly isConfigured: boolean;
  /**
   * Promises the mail in the caller's transaction.
   * @returns false, without a promise, if no mail server is configured, if the address is not a valid one, or if the
   * organization, the recipient or the installation has reached its limit
   */
  append(db: WriteDb, mail: MailToSend): Promise<boolean>;
}

/** Seals contents, which may have secrets such as the code of an invite. `iam/secrets/secrets.ts` implements it. */
export interface MailSecrets {
  seal(text: string, context: string): string;
  open(sealed: string, context: string): string;
  hash(text: string, context: string): string;
}

const HOUR_MS = 3_600_000;
const LIFETIME_MS = 72 * HOUR_MS;
/** Nobody can use this server to flood a mailbox, or to send mails to many people. */
const MAX_PER_ORGANIZATION_AND_HOUR = 200;
const MAX_PER_RECIPIENT_AND_HOUR = 10;

export const WITHOUT_MAIL: Mailer = { isConfigured: false, append: async () => false };

/**
 * @param onAppend called after the commit
 * @param maxPerHour mails that all organizations together may cause: anybody can found many
 */
export function createMailer(secrets: MailSecrets, onAppend: () => void, maxPerHour = Number.POSITIVE_INFINITY): Mailer {
  return {
    isConfigured: true,
    async append(db, { to, subject, text, organization = "", limitedBy, expireTime, now }) {
      if (!isMailAddress(to)) return false;
      const context = limitedBy === undefined ? "mail/recipient" : `mail/recipient/${limitedBy}`;
      const recipient = secrets.hash(mailboxOf(to), context);
      if (await isLimitReached(db, { organization, recipient, now }, maxPerHour)) return false;
      const uid = randomBytes(16).toString("hex");
      const mail: Mail = { to, subject, text };
      const row = {
        uid,
        org_uid: organization,
        recipient_hash: recipient,
        content: secrets.seal(JSON.stringify(mail), sealContext(uid)),
        attempts: 0,
        next_attempt_time: now.toISOString(),
        create_time: now.toISOString(),
        expire_time: new Date(Math.min(now.getTime() + LIFETIME_MS, expireTime?.getTime() ?? Number.POSITIVE_INFINITY)).toISOString(),
        ...RELEASED,
      };
      await db.insertInto("mail").values(row).execute();
      db.afterCommit(onAppend);
      return true;
    },
  };
}

/** @throws Error if the content was sealed with another key */
export function openMail({ uid, content }: { readonly uid: string; readonly content: string }, secrets: MailSecrets): Mail {
  return JSON.parse(secrets.open(content, sealContext(uid))) as Mail;
}

function sealContext(uid: string): string {
  return `mail/${uid}`;
}

interface Limited {
  readonly organization: string;
  readonly recipient: string;
  readonly now: Date;
}

/** Most mail servers ignore case, and put what follows a plus sign into the same mailbox. */
function mailboxOf(address: string): string {
  return address.toLowerCase().replace(/\+.*(?=@)/, "");
}

async function isLimitReached(db: ReadDb, { organization, recipient, now }: Limited, maxPerHour: number): Promise<boolean> {
  const since = new Date(now.getTime() - HOUR_MS).toISOString();
  const recent = db.selectFrom("mail").select("uid").where("create_time", ">", since);
  const toRecipient = await recent.where("recipient_hash", "=", recipient).limit(MAX_PER_RECIPIENT_AND_HOUR).execute();
  if (toRecipient.length === MAX_PER_RECIPIENT_AND_HOUR) return true;
  if (organization === "") return false;
  const ofOrganization = await recent.where("org_uid", "=", organization).limit(MAX_PER_ORGANIZATION_AND_HOUR).execute();
  if (ofOrganization.length === MAX_PER_ORGANIZATION_AND_HOUR) return true;
  const ofAll = db.selectFrom("mail").select((eb) => eb.fn.countAll<number | string | bigint>().as("count"));
  const { count } = await ofAll.where("create_time", ">", since).where("org_uid", "<>", "").executeTakeFirstOrThrow();
  return Number(count) >= maxPerHour;
}
