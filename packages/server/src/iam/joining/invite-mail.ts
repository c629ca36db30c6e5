/** Mails invites that name an email address. */
import type { GroupInvite } from "@holt/api/gen/platform/iam/v2/group_invites_pb.ts";
import type { WriteDb } from "../../db/store.ts";
import { dateFromTimestamp } from "../../lib/clock.ts";
import { parentOf, rootOf } from "../../lib/uid.ts";
import type { Mailer } from "../../mail/mail.ts";

export interface InviteMailParts {
  readonly mailer: Mailer;
  /** Public URL of this server. */
  readonly baseUrl: string;
}

export interface NewInvite {
  readonly invite: GroupInvite;
  readonly code: string;
  readonly now: Date;
}

/** Promises the mail, if the operator has configured a mail server. Without a mail, the caller passes the link on. */
export async function mailInvite(db: WriteDb, { invite, code, now }: NewInvite, { mailer, baseUrl }: InviteMailParts): Promise<void> {
  if (!mailer.isConfigured) return;
  const groupUid = parentOf(invite.uid);
  const group = await db.selectFrom("group").select("name").where("uid", "=", groupUid).executeTakeFirst();
  const organization = rootOf(groupUid);
  const expireTime = invite.expirationTime && dateFromTimestamp(invite.expirationTime);
  const { host } = new URL(baseUrl);
  const text = `You are invited to join “${group?.name ?? ""}” on ${host}. Open this link, sign in, and decide:

${baseUrl}/oauth?invite=${encodeURIComponent(code)}

The link is valid until ${expireTime?.toISOString().slice(0, 16).replace("T", " ")} UTC. It is meant for ${invite.email} alone: do not pass it on.

If you do not expect an invitation, ignore this mail. Nothing happens unless you open the link.`;
  await mailer.append(db, { to: invite.email, subject: `Invitation to ${host}`, text, organization, expireTime, now });
}
