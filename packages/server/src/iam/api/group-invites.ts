/** Group invites: codes with which somebody joins a group with a role. What redeems them is auth/invites.ts. */
import { randomBytes } from "node:crypto";
import {
  type GroupInvite,
  GroupInviteSchema,
  GroupInvitesService,
  ListGroupInvitesResponseSchema,
} from "@holt/api/gen/platform/iam/v2/group_invites_pb.ts";
import { JsonText, type WriteCall } from "../../api/call/call.ts";
import { implement, read, write } from "../../api/call/implement.ts";
import { defineResource } from "../../api/resource/define.ts";
import { writableFields } from "../../api/resource/field-mask.ts";
import { getBody } from "../../api/resource/get.ts";
import { listPage, listResponse } from "../../api/resource/list.ts";
import { assertNone } from "../../api/resource/names.ts";
import { standardMethods } from "../../api/resource/standard-methods.ts";
import { create } from "../../api/resource/write.ts";
import type { ReadDb } from "../../db/store.ts";
import type { ServiceDependencies } from "../../dependencies-services.ts";
import { dateFromTimestamp, timestampFromDate } from "../../lib/clock.ts";
import type { FieldViolation } from "../../lib/errors.ts";
import { messageFromJson } from "../../lib/proto-json.ts";
import { newInviteCode } from "../joining/invites.ts";
import { assertGrantable, uidViolations } from "./bindable.ts";
import { hydrateGroupInvites } from "./hydrate-group-invites.ts";

const EMAIL = /^[^\s@]{1,254}@[^\s@]{1,255}$/;
/** The last moment that a timestamp can say. */
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
});

export function groupInvitesService(dependencies: ServiceDependencies) {
  const { pageTokens } = dependencies;
  return implement(GroupInvitesService, {
    ...standardMethods(GroupInvitesService, groupInvites, pageTokens),

    createGroupInvite: write(async ({ parent, groupInvite }, call) => {
      const invite = invited(groupInvite as GroupInvite, call.now);
      await assertGrantable("role_uid", invite.roleUid, parent, call, dependencies);
      const made = await create(groupInvites, parent, invite, call);
      const code = await giveCode(made.text, call);
      const [body = made.text] = await hydrateGroupInvites([made.text], call.db, code);
      return new JsonText(GroupInviteSchema, body);
    }),

    getGroupInvite: read(async ({ uid }, call) => {
      const { text } = await getBody(groupInvites, uid, call.db);
      return hydrated(text, call.db);
    }),

    listGroupInvites: read(async (request, call) => {
      const page = await listPage(groupInvites, request, call, pageTokens);
      return listResponse(ListGroupInvitesResponseSchema, { ...page, bodies: await hydrateGroupInvites(page.bodies, call.db) });
    }),
  });
}

async function hydrated(text: string, db: ReadDb): Promise<JsonText<typeof GroupInviteSchema>> {
  const [body = text] = await hydrateGroupInvites([text], db);
  return new JsonText(GroupInviteSchema, body);
}

/** The invite as it is stored: a time to live has become a time. @throws INVALID_ARGUMENT */
function invited(given: GroupInvite, now: Date): GroupInvite {
  const invite = writableFields(GroupInviteSchema, given);
  const { seconds, nanos } = invite.ttl ?? { seconds: 0n, nanos: 0 };
  // A part of a millisecond lives to its end.
  const expiration = now.getTime() + Number(seconds) * 1000 + Math.ceil(nanos / 1_000_000);
  assertNone([...uidViolations("role_uid", invite.roleUid), ...ttlViolations(expiration, now), ...emailViolations(invite.email)]);
  invite.ttl = undefined;
  invite.expirationTime = timestampFromDate(new Date(expiration));
  invite.keyId = randomBytes(20).toString("hex");
  return invite;
}

function ttlViolations(expiration: number, now: Date): FieldViolation[] {
  const violation = (description: string) => [{ field: "ttl", description }];
  if (expiration <= now.getTime()) return violation("ttl is required, as a duration above zero, such as 168h (604800s)");
  return expiration > END_OF_TIME ? violation("ttl must end before the year 10000") : [];
}

function emailViolations(email: string): FieldViolation[] {
  if (email === "" || EMAIL.test(email)) return [];
  return [{ field: "email", description: "email must be one address, such as ann@example.com, or empty" }];
}

/** The code has the uid in it, which the row was given when it was made. */
async function giveCode(text: string, { db }: WriteCall): Promise<string> {
  const invite = messageFromJson(GroupInviteSchema, text);
  const { code, hash } = newInviteCode(invite);
  await db.updateTable("group_invite").set({ code_hash: hash }).where("uid", "=", invite.uid).execute();
  return code;
}
