/** Group invites: codes with which a person joins a group with a role. joining/invites.ts redeems them. */
import { randomBytes } from "node:crypto";
import { type GroupInvite, GroupInviteSchema, GroupInvitesService } from "@holt/api/gen/platform/iam/v2/group_invites_pb.ts";
import { JsonText, type WriteCall } from "../../api/call/call.ts";
import { implement, write } from "../../api/call/implement.ts";
import { defineResource } from "../../api/resource/define.ts";
import { assertNone } from "../../api/resource/names.ts";
import type { PageTokens } from "../../api/resource/page-token.ts";
import { standardMethods } from "../../api/resource/standard-methods.ts";
import { create, prepareCreate } from "../../api/resource/write.ts";
import { dateFromTimestamp, millisecondsFromDuration, timestampFromDate } from "../../lib/clock.ts";
import type { FieldViolation } from "../../lib/errors.ts";
import type { Mailer } from "../../mail/mail.ts";
import { type InviteMailParts, mailInvite } from "../joining/invite-mail.ts";
import { generateInviteCode } from "../joining/invites.ts";
import { assertGrantable, uidViolations } from "./bindable.ts";
import type { EscalationCollaborators } from "./escalation.ts";
import { hydrateGroupInvites } from "./hydrate-group-invites.ts";

const EMAIL = /^[^\s@]{1,254}@[^\s@]{1,255}$/;
/** The latest time that a timestamp can hold, in milliseconds. */
const END_OF_TIME = Date.UTC(9999, 11, 31, 23, 59, 59);

export const groupInvites = defineResource(GroupInviteSchema, {
  table: "group_invite",
  columns: ({ roleUid, keyId, expirationTime }) => ({
    role_uid: roleUid,
    key_id: keyId,
    expiration_time: expirationTime === undefined ? "" : dateFromTimestamp(expirationTime).toISOString(),
  }),
  filters: { keyId: "key_id" },
  orderBy: ["uid", "create_time", "expiration_time"],
  defaultOrder: "create_time desc",
  check: (invite, now) =>
    assertNone([...uidViolations("role_uid", invite.roleUid), ...ttlViolations(invite, now), ...emailViolations(invite.email)]),
});

export interface GroupInvitesCollaborators extends EscalationCollaborators {
  readonly pageTokens: PageTokens;
  readonly mailer: Mailer;
  readonly baseUrl: string;
}

export function groupInvitesService(collaborators: GroupInvitesCollaborators) {
  const { pageTokens } = collaborators;
  return implement(GroupInvitesService, {
    ...standardMethods(GroupInvitesService, groupInvites, {
      pageTokens,
      show: (bodies, { db }) => hydrateGroupInvites(bodies, db),
    }),

    createGroupInvite: write(async ({ parent, groupInvite }, call) => {
      const invite = prepareCreate(groupInvites, groupInvite, call.now);
      await assertGrantable({ field: "role_uid", roleUid: invite.roleUid, groupUid: parent }, call, collaborators);
      return createInvite(parent, invite, call, collaborators);
    }),
  });
}

/** @param invite from `prepareCreate`, with a role that the caller may give */
export async function createInvite(
  parent: string,
  invite: GroupInvite,
  call: WriteCall,
  mail: InviteMailParts,
): Promise<JsonText<typeof GroupInviteSchema>> {
  settleExpiration(invite, call.now);
  invite.keyId = randomBytes(20).toString("hex");
  const created = await create(groupInvites, parent, invite, call);
  const code = await storeNewCode(invite, call);
  if (invite.email !== "") await mailInvite(call.db, { invite, code, now: call.now }, mail);
  const [body = created.text] = await hydrateGroupInvites([created.text], call.db, code);
  return new JsonText(GroupInviteSchema, body);
}

/** In milliseconds since 1970. */
function expirationOf({ ttl }: GroupInvite, now: Date): number {
  // Rounded up, so that an invite lives at least as long as its ttl says.
  return now.getTime() + (ttl === undefined ? 0 : millisecondsFromDuration(ttl, Math.ceil));
}

/** An invite is stored with the time at which it expires, in place of a time to live. */
function settleExpiration(invite: GroupInvite, now: Date): void {
  invite.expirationTime = timestampFromDate(new Date(expirationOf(invite, now)));
  invite.ttl = undefined;
}

function ttlViolations(invite: GroupInvite, now: Date): FieldViolation[] {
  const expiration = expirationOf(invite, now);
  const violation = (description: string) => [{ field: "ttl", description }];
  if (expiration <= now.getTime()) return violation("ttl is required, as a duration above zero, such as 168h (604800s)");
  return expiration > END_OF_TIME ? violation("ttl must end before the year 10000") : [];
}

function emailViolations(email: string): FieldViolation[] {
  if (email === "" || EMAIL.test(email)) return [];
  return [{ field: "email", description: "email must be one address, such as ann@example.com, or empty" }];
}

/** The code contains the uid, so there is a code only after the invite is stored. */
async function storeNewCode(invite: GroupInvite, { db }: WriteCall): Promise<string> {
  const { code, hash } = generateInviteCode(invite);
  await db.updateTable("group_invite").set({ code_hash: hash }).where("uid", "=", invite.uid).execute();
  return code;
}
