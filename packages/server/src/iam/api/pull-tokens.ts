/** Pull tokens: user names and passwords for clients of the registry and of libraries. */
import { clone, create as createMessage } from "@bufbuild/protobuf";
import { type Duration, EmptySchema } from "@bufbuild/protobuf/wkt";
import {
  type AdoptPullTokenRequest,
  ListPullTokensResponseSchema,
  type PullToken,
  PullTokenSchema,
  PullTokensService,
  type RotatePullTokenRequest,
} from "@holt/api/gen/holt/v1/pull_tokens_pb.ts";
import { Capability } from "@holt/api/gen/platform/capabilities/capabilities_pb.ts";
import { capabilitySet, hexFromCapabilitySet } from "../../access/capability-set.ts";
import { assertHolds } from "../../api/call/authorize.ts";
import { type Call, JsonText, type WriteCall } from "../../api/call/call.ts";
import { type Handlers, implement, read, write } from "../../api/call/implement.ts";
import { findForUpdate, getBody } from "../../api/resource/get.ts";
import { listPage } from "../../api/resource/list.ts";
import { listResponse } from "../../api/resource/list-text.ts";
import type { PageTokens } from "../../api/resource/page-token.ts";
import { assertGroupExists, insert, prepareCreate, remove, save } from "../../api/resource/write.ts";
import type { WriteDb } from "../../db/store.ts";
import { dateFromTimestamp, millisecondsFromDuration, timestampFromDate } from "../../lib/clock.ts";
import { invalidArgument } from "../../lib/errors.ts";
import { isUid, newUid, parentOf } from "../../lib/uid.ts";
import { announceTimeOf } from "../pull-tokens/expiry.ts";
import { generatePassword } from "../pull-tokens/password.ts";
import { hashPassword, userNameOf } from "../pull-tokens/pull-token-login.ts";
import { insertPassword, retirePasswords } from "../pull-tokens/pull-token-record.ts";
import { DAY_MS, lifetimeOf, pullTokens } from "../pull-tokens/pull-token-resource.ts";
import type { Secrets } from "../secrets/secrets.ts";
import type { EscalationCollaborators } from "./escalation.ts";
import { assertMayGive, assertMayTakeOver, assertMayUse, LIST, type PullTokenGrant, visibleTokens } from "./pull-token-authority.ts";
import { showPullTokens } from "./show-pull-tokens.ts";

const CREATE = capabilitySet([Capability.CAP_IAM_IDENTITY_CREATE, Capability.CAP_IAM_ROLE_BINDINGS_CREATE]);
const UPDATE = capabilitySet([Capability.CAP_IAM_IDENTITY_UPDATE]);
const DELETE = capabilitySet([Capability.CAP_IAM_IDENTITY_DELETE]);
const DEFAULT_LIFETIME_MS = 30 * DAY_MS;
const DEFAULT_OVERLAP_MS = DAY_MS;
const MAX_OVERLAP_MS = 30 * DAY_MS;

export interface PullTokensCollaborators extends EscalationCollaborators {
  readonly pageTokens: PageTokens;
  readonly secrets: Pick<Secrets, "hash">;
}

export function pullTokensService(collaborators: PullTokensCollaborators) {
  const { pageTokens } = collaborators;
  const handlers: Handlers<typeof PullTokensService> = {
    createPullToken: write(async ({ parent, pullToken: given }, call) => {
      const token = prepareCreate(pullTokens, given, call.now);
      const { capabilities, creator } = await assertMayGive(token, parent, call, collaborators);
      settle(token, call.now);
      token.creator = creator.uid;
      const uid = await newTokenUid(parent, call.db);
      token.userName = userNameOf(uid);
      await insert(pullTokens, uid, token, call);
      await storeGrant(uid, { capabilities, creator }, call.db);
      return withNewPassword(token, call, collaborators);
    }),

    getPullToken: read(async ({ uid }, call) => {
      await assertMayUse(uid, { capabilities: LIST, ofCreator: "all" }, call);
      return shown(await getBody(pullTokens, uid, call.db), call);
    }),

    listPullTokens: read(async (request, call) => {
      const { access, conditions } = await visibleTokens(call);
      const show = (rows: readonly { readonly body: string }[]) =>
        showPullTokens(
          rows.map(({ body }) => body),
          call.db,
        );
      const page = await listPage(pullTokens, request, { ...call, access }, { pageTokens, show, conditions });
      return listResponse(ListPullTokensResponseSchema, page);
    }),

    rotatePullToken: write((request, call) => rotate(request, call, collaborators)),
    adoptPullToken: write((request, call) => adopt(request, call, collaborators)),

    deletePullToken: write(async ({ uid }, call) => {
      await assertMayUse(uid, { capabilities: DELETE, ofCreator: "dependent" }, call);
      await remove(pullTokens, uid, call.db);
      return createMessage(EmptySchema);
    }),
  };
  return implement(PullTokensService, handlers, "PullToken");
}

async function rotate({ uid, ttl, overlap }: RotatePullTokenRequest, call: WriteCall, collaborators: PullTokensCollaborators) {
  const isCreator = await assertMayUse(uid, { capabilities: UPDATE, ofCreator: "all" }, call);
  const token = await findForUpdate(pullTokens, uid, call.db);
  // The caller gets the password, so it must hold the token's capabilities, unless these cannot exceed its own.
  if (isCreator) await assertHolds({ kind: "PullToken", uid }, CREATE, call.access, call.db);
  if (!isCreator || token.independent) await assertMayTakeOver(token, call, collaborators);
  const end = await retireCurrent(token, overlapOf(overlap), call);
  const lifetime = lifetimeOf(ttl, expireTimeOf(token).getTime() - dateOf(token.rotateTime ?? token.createTime).getTime());
  const next = clone(PullTokenSchema, token);
  next.rotateTime = timestampFromDate(call.now);
  next.previousExpireTime = timestampFromDate(end);
  next.expireTime = timestampFromDate(new Date(call.now.getTime() + lifetime));
  await save(pullTokens, { current: token, next }, call);
  return withNewPassword(next, call, collaborators);
}

/** Makes the caller the creator of the token. */
async function adopt({ uid, independent }: AdoptPullTokenRequest, call: WriteCall, collaborators: PullTokensCollaborators) {
  const current = await findForUpdate(pullTokens, uid, call.db);
  const next = clone(PullTokenSchema, current);
  next.independent = independent;
  const given = await assertMayGive(next, parentOf(uid), call, collaborators);
  next.creator = given.creator.uid;
  const saved = await save(pullTokens, { current, next }, call);
  await storeGrant(uid, given, call.db);
  return shown(saved, call);
}

async function newTokenUid(parent: string, db: WriteDb): Promise<string> {
  const uid = newUid(parent);
  if (!isUid(uid)) throw invalidArgument("parent", "the parent is at the deepest of the 64 levels that a tree can have");
  await assertGroupExists(parent, db);
  return uid;
}

/** Replaces the time to live by the time at which the token expires, and sorts the rights. */
function settle(token: PullToken, now: Date): void {
  token.expireTime = timestampFromDate(new Date(now.getTime() + lifetimeOf(token.ttl, DEFAULT_LIFETIME_MS)));
  token.ttl = undefined;
  token.rights = [...new Set(token.rights)].sort((a, b) => a - b);
}

/** Stores what the message does not say. */
async function storeGrant(uid: string, { capabilities, creator: { uid: _uid, ...session } }: PullTokenGrant, db: WriteDb): Promise<void> {
  const row = { capabilities: hexFromCapabilitySet(capabilities), creator_session: JSON.stringify(session) };
  await db.updateTable("pull_token").set(row).where("uid", "=", uid).execute();
}

async function withNewPassword(
  token: PullToken,
  { db, now }: WriteCall,
  { secrets }: PullTokensCollaborators,
): Promise<JsonText<typeof PullTokenSchema>> {
  const password = generatePassword();
  const expireTime = expireTimeOf(token);
  await insertPassword(db, token.uid, { hash: hashPassword(password, secrets), expireTime });
  const announced = { announce_time: announceTimeOf(now, expireTime) };
  await db.updateTable("pull_token").set(announced).where("uid", "=", token.uid).execute();
  const message = clone(PullTokenSchema, token);
  message.password = password;
  return new JsonText(PullTokenSchema, pullTokens.encode(message), message);
}

async function shown({ text }: JsonText<typeof PullTokenSchema>, { db }: Call): Promise<JsonText<typeof PullTokenSchema>> {
  const [body = text] = await showPullTokens([text], db);
  return new JsonText(PullTokenSchema, body);
}

/** @returns when the password that was current stops working */
async function retireCurrent(token: PullToken, overlapMs: number, { db, now }: WriteCall): Promise<Date> {
  const end = new Date(Math.min(now.getTime() + overlapMs, Math.max(expireTimeOf(token).getTime(), now.getTime())));
  await retirePasswords(db, token.uid, end, now);
  return end;
}

function overlapOf(overlap: Duration | undefined): number {
  if (overlap === undefined) return DEFAULT_OVERLAP_MS;
  const ms = millisecondsFromDuration(overlap);
  if (ms >= 0 && ms <= MAX_OVERLAP_MS) return ms;
  throw invalidArgument("overlap", "overlap must be a duration of at most 30 days (2592000s)");
}

function expireTimeOf({ expireTime }: PullToken): Date {
  return dateOf(expireTime);
}

function dateOf(timestamp: PullToken["expireTime"]): Date {
  return timestamp === undefined ? new Date(0) : dateFromTimestamp(timestamp);
}
