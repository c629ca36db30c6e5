/** The organizations of the calling user: listing, joining and leaving them. */
import { create } from "@bufbuild/protobuf";
import { EmptySchema } from "@bufbuild/protobuf/wkt";
import {
  type ListMembershipsRequest,
  ListMembershipsResponseSchema,
  type Membership,
  MembershipSchema,
  MembershipsService,
  Membership_State as State,
} from "@holt/api/gen/holt/v1/memberships_pb.ts";
import { sql } from "kysely";
import type { Principal } from "../../access/principal.ts";
import type { Call } from "../../api/call/call.ts";
import { implement, read, write } from "../../api/call/implement.ts";
import { parsePageRequest } from "../../api/resource/list.ts";
import { bindingOf, type PageTokens } from "../../api/resource/page-token.ts";
import type { ReadDb, Store } from "../../db/store.ts";
import { timestampFromDate } from "../../lib/clock.ts";
import { notFound, permissionDenied, unauthenticated } from "../../lib/errors.ts";
import { isInRoot, isUid, parentOf, rootOf } from "../../lib/uid.ts";
import { deleteBindingsOf } from "../grants/bindings.ts";
import type { Grants } from "../grants/grants.ts";
import { bindingsOf, deleteMostBindings } from "../joining/delete-most-bindings.ts";
import { assertNotLastOwner, OWNER_ROLE } from "../joining/last-owner.ts";
import { join, leave } from "../joining/membership.ts";

export interface MembershipsCollaborators {
  readonly store: Store;
  readonly grants: Grants;
  readonly pageTokens: PageTokens;
}

export function membershipsService({ store, grants, pageTokens }: MembershipsCollaborators) {
  return implement(MembershipsService, {
    listMemberships: read((request, call) => listMemberships(request, call, pageTokens)),

    acceptMembership: write(async ({ uid }, call) => {
      const { state } = await findMembership(uid, call);
      assertMayDecide(call);
      const identityUid = callerOf(call).uid;
      call.changed = state !== State.JOINED && (await join(call.db, { identityUid, groupUid: uid, now: call.now }));
      if (call.changed) await grants.recordChange(call.db, [identityUid]);
      return findMembership(uid, call);
    }),

    leaveMembership: {
      kind: "write",
      // The organization may have made very many bindings.
      async prepare({ uid }, call) {
        await findMembership(uid, call);
        assertMayDecide(call, uid);
        await deleteMostBindings({ store, grants }, callerOf(call).uid, uid);
        return undefined;
      },
      async handle({ uid }, call) {
        const { uid: identityUid } = callerOf(call);
        const { state } = await findMembership(uid, call);
        await assertNotLastOwner(call.db, identityUid, uid);
        const deleted = await deleteBindingsOf(call.db, bindingsOf(identityUid, uid));
        call.changed = state !== State.LEFT || deleted.length > 0;
        if (state !== State.LEFT) await leave(call.db, identityUid, uid, call.now);
        if (call.changed) await grants.recordChange(call.db, [identityUid]);
        return findMembership(uid, call);
      },
    },

    leaveRoleBinding: write(async ({ uid }, call) => {
      const { uid: identityUid } = callerOf(call);
      const own = call.db.selectFrom("role_binding").select("role_uid").where("uid", "=", uid).where("identity_uid", "=", identityUid);
      const binding = isUid(uid) && isInRoot(identityUid) ? await own.executeTakeFirst() : undefined;
      if (binding === undefined) throw notFound("RoleBinding", uid.slice(0, 200));
      assertMayDecide(call, rootOf(uid));
      if (binding.role_uid === OWNER_ROLE && isInRoot(parentOf(uid))) await assertNotLastOwner(call.db, identityUid, rootOf(uid));
      await deleteBindingsOf(call.db, sql<boolean>`uid = ${uid} and identity_uid = ${identityUid}`);
      await grants.recordChange(call.db, [identityUid]);
      return create(EmptySchema);
    }),
  });
}

function callerOf({ principal }: Call): Principal {
  if (principal === undefined) throw unauthenticated("sign in first");
  return principal;
}

/**
 * A token that is valid in one organization may leave that one, but not join: the organization may hold such a token of
 * the person.
 */
function assertMayDecide(call: Call, leavable?: string): void {
  const { scopes, capabilities, within } = callerOf(call);
  if (scopes === undefined && capabilities === undefined && (within === undefined || within === leavable)) return;
  throw permissionDenied("this token is narrowed and does not allow joining or leaving the organization");
}

interface Row {
  readonly uid: string;
  readonly name: string;
  readonly state: "joined" | "left" | "signed_in" | null;
  readonly update_time: string | null;
}

/** The organizations in which the identity is bound or has a membership. */
function organizationsOf(identityUid: string, db: ReadDb) {
  const known = sql<{ uid: string }>`(
    select org_uid as uid from membership where identity_uid = ${identityUid}
    union select substr(parent, 1, 40) as uid from role_binding where identity_uid = ${identityUid} and length(identity_uid) = 40)`;
  return db
    .selectFrom(known.as("known"))
    .innerJoin("group", "group.uid", "known.uid")
    .leftJoin("membership", (on) => on.onRef("membership.org_uid", "=", "group.uid").on("membership.identity_uid", "=", identityUid))
    .select(["group.uid", "group.name", "membership.state", "membership.update_time"]);
}

/** @throws NOT_FOUND unless the caller is a user who is bound in the organization or has a membership */
async function findMembership(uid: string, call: Call): Promise<Membership> {
  const { uid: identityUid } = callerOf(call);
  const isPossible = isUid(uid) && isInRoot(uid) && isInRoot(identityUid);
  const row = isPossible ? await membershipOf(uid, identityUid, call.db) : undefined;
  if (row === undefined) throw notFound("Membership", uid.slice(0, 200));
  return messageFromRow(row, identityUid);
}

async function membershipOf(uid: string, identityUid: string, db: ReadDb): Promise<Row | undefined> {
  const row = await db
    .selectFrom("group")
    .leftJoin("membership", (on) => on.onRef("membership.org_uid", "=", "group.uid").on("membership.identity_uid", "=", identityUid))
    .select(["group.uid", "group.name", "membership.state", "membership.update_time"])
    .where("group.uid", "=", uid)
    .executeTakeFirst();
  if (row === undefined || row.state !== null) return row;
  const bound = await db.selectFrom("role_binding").select("uid").where(bindingsOf(identityUid, uid)).limit(1).executeTakeFirst();
  return bound && row;
}

async function listMemberships(request: ListMembershipsRequest, call: Call, tokens: PageTokens) {
  const { uid } = callerOf(call);
  const { limit } = parsePageRequest({ pageSize: request.pageSize, skip: 0 });
  const binding = bindingOf(call, request.state);
  const after = request.pageToken === "" ? undefined : tokens.open(request.pageToken, binding, call.now);
  const state = NAMES[request.state];
  const rows = await organizationsOf(uid, call.db)
    .where("group.uid", ">", after?.uid ?? "")
    .$if(state !== undefined, (query) => query.where(sql<boolean>`coalesce(nullif(membership.state, 'signed_in'), 'pending') = ${state}`))
    .orderBy("group.uid")
    .limit(limit + 1)
    .execute();
  const page = rows.slice(0, limit);
  const last = rows.length > limit ? page.at(-1) : undefined;
  return create(ListMembershipsResponseSchema, {
    memberships: page.map((row) => messageFromRow(row, uid)),
    nextPageToken: last === undefined ? "" : tokens.seal({ key: last.uid, uid: last.uid, skipped: 0 }, binding, call.now),
  });
}

const NAMES: Readonly<Record<number, string>> = { [State.PENDING]: "pending", [State.JOINED]: "joined", [State.LEFT]: "left" };
const STATES = { joined: State.JOINED, left: State.LEFT, signed_in: State.PENDING } as const;

function messageFromRow({ uid, name, state, update_time }: Row, identityUid: string): Membership {
  return create(MembershipSchema, {
    uid,
    identityUid,
    name,
    state: state === null ? State.PENDING : STATES[state],
    ...(update_time !== null && state !== "signed_in" && { updateTime: timestampFromDate(new Date(update_time)) }),
  });
}
