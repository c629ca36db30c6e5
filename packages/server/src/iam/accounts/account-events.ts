/** Appends the events of changes to local accounts that people make in a browser, and mails the people about them. */
import type { WriteDb } from "../../db/store.ts";
import type { Mailer } from "../../mail/mail.ts";
import { appendPlainEvents, type EventNames } from "../../outbox/outbox.ts";
import { joinedOrganizations } from "../joining/membership.ts";
import { mailAccountNotice } from "./account-notices.ts";

/** A change, by the last part of its event's type. */
export type AccountEventName =
  | "created"
  | "email_confirmed"
  | "passkey_added"
  | "passkey_renamed"
  | "passkey_removed"
  | "passkey_cloned"
  | "password_changed"
  | "recovery_codes_replaced"
  | "recovery_code_used"
  | "recovery_created"
  | "recovered"
  | "sessions_ended"
  | "linked"
  | "unlinked";

export interface AccountEvent {
  readonly name: AccountEventName;
  readonly identityUid: string;
  /** Facts about the change, without secrets. */
  readonly body?: Readonly<Record<string, unknown>>;
  /** One sentence to mail to the person; without it, no mail is sent. */
  readonly notice?: string;
  /** Uids of the only organizations that are notified of the change; by default all that the person has joined. */
  readonly groups?: readonly string[];
  /** Uid of the identity that makes the change; by default the person of the account. */
  readonly actor?: string;
  readonly now: Date;
}

export interface AccountEventParts {
  readonly names: EventNames;
  readonly mailer: Mailer;
}

/** Every organization that the person has joined is notified of the change; without one, the event is about no group. */
export async function appendAccountEvent(
  db: WriteDb,
  { name, identityUid, body = {}, notice, actor = identityUid, groups, now }: AccountEvent,
  { names, mailer }: AccountEventParts,
): Promise<void> {
  const events = (groups ?? (await organizationsToNotify(db, identityUid))).map((group) => ({
    type: `api.holt.account.${name}.v1`,
    source: `${names.baseUrl}/holt/v1/accounts`,
    subject: identityUid,
    group,
    extensions: {},
    actor: { subject: actor, claimsAt: () => ({}) },
    body: { uid: identityUid, ...body },
    now,
  }));
  await appendPlainEvents(db, events, names);
  if (notice !== undefined) await mailAccountNotice(db, { identityUid, event: notice, now }, { mailer, baseUrl: names.baseUrl });
}

export function appendCodeUse(db: WriteDb, identityUid: string, now: Date, parts: AccountEventParts): Promise<void> {
  const notice = "A recovery code of your account was used.";
  return appendAccountEvent(db, { name: "recovery_code_used", identityUid, notice, now }, parts);
}

/** One empty uid if the person has joined none: then only the person and the operator are notified of the change. */
async function organizationsToNotify(db: WriteDb, identityUid: string): Promise<readonly string[]> {
  const joined = await joinedOrganizations(db, identityUid);
  return joined.length === 0 ? [""] : joined;
}
