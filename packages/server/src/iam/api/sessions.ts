/** The sessions in which people are signed in: listing and ending them. */
import { create } from "@bufbuild/protobuf";
import {
  EndSessionsResponseSchema,
  Session_Kind as Kind,
  type ListSessionsRequest,
  ListSessionsResponseSchema,
  type Session,
  SessionSchema,
  SessionsService,
} from "@holt/api/gen/holt/v1/sessions_pb.ts";
import { Capability } from "@holt/api/gen/platform/capabilities/capabilities_pb.ts";
import { capabilitySet } from "../../access/capability-set.ts";
import type { Principal } from "../../access/principal.ts";
import { assertHolds } from "../../api/call/authorize.ts";
import type { Call, WriteCall } from "../../api/call/call.ts";
import { implement, read, write } from "../../api/call/implement.ts";
import { parsePageRequest } from "../../api/resource/list.ts";
import { bindingOf, type PageTokens } from "../../api/resource/page-token.ts";
import { timestampFromDate } from "../../lib/clock.ts";
import { invalidArgument, notFound, permissionDenied, unauthenticated } from "../../lib/errors.ts";
import { isInRoot, isUid, parentOf, rootOf } from "../../lib/uid.ts";
import type { LoginSessionTable } from "../tables.ts";
import { isNarrowed } from "../tokens/narrowing.ts";
import { revokeFamilies } from "../tokens/refresh-token.ts";

const LIST = capabilitySet([Capability.CAP_IAM_SESSIONS_LIST]);
const DELETE = capabilitySet([Capability.CAP_IAM_SESSIONS_DELETE]);

export function sessionsService({ pageTokens }: { readonly pageTokens: PageTokens }) {
  return implement(SessionsService, {
    listSessions: read((request, call) => listSessions(request, call, pageTokens)),

    endSession: write(async ({ uid, organization }, call) => {
      const identityUid = isUid(uid) && !isInRoot(uid) ? parentOf(uid) : "";
      await assertMayEnd({ identityUid, organization }, call);
      const row = await selectSessions(call, organization, identityUid).where("s.uid", "=", uid).executeTakeFirst();
      if (row === undefined) throw notFound("Session", uid.slice(0, 200));
      await revokeFamilies(call.db, identityUid, [row.family]);
      return messageFromRow(row, organization, call);
    }),

    endSessions: write(async ({ organization, identityUid: named, keepCurrent }, call) => {
      const identityUid = named === "" && organization === "" ? callerOf(call).uid : named;
      if (identityUid !== call.principal?.uid && !(isUid(identityUid) && isInRoot(identityUid)))
        throw invalidArgument("identity_uid", "identity_uid must be the uid of a user");
      await assertMayEnd({ identityUid, organization }, call);
      const current = keepCurrent ? call.principal?.loginSession : undefined;
      const rows = await selectSessions(call, organization, identityUid).execute();
      const ending = rows.filter(({ uid }) => uid !== current).map(({ family }) => family);
      await revokeFamilies(call.db, identityUid, ending);
      call.changed = ending.length > 0;
      return create(EndSessionsResponseSchema, { identityUid, organization, ended: ending.length });
    }),
  });
}

function callerOf({ principal }: Pick<Call, "principal">): Principal {
  if (principal === undefined) throw unauthenticated("sign in first");
  return principal;
}

/** Sessions to end. */
interface Ended {
  readonly identityUid: string;
  readonly organization: string;
}

/** A narrowed token, which another service may hold, does not act for the whole account. */
async function assertMayEnd({ identityUid, organization }: Ended, call: WriteCall): Promise<void> {
  if (organization !== "") return assertHoldsAtOrganization(organization, DELETE, call);
  const principal = callerOf(call);
  if (principal.uid !== identityUid) throw notFound("Session", identityUid);
  if (isNarrowed({ ...principal, within: undefined }))
    throw permissionDenied("this token is narrowed and does not allow ending sessions of the account");
}

async function assertHoldsAtOrganization(organization: string, wanted: bigint, { access, db }: Call): Promise<void> {
  if (!isUid(organization) || !isInRoot(organization))
    throw invalidArgument("organization", "organization must be the uid of an organization, or empty for own sessions");
  await assertHolds({ kind: "Group", uid: organization }, wanted, access, db);
}

async function listSessions({ organization, identityUid, pageSize, pageToken }: ListSessionsRequest, call: Call, tokens: PageTokens) {
  const { uid } = callerOf(call);
  if (organization !== "") await assertHoldsAtOrganization(organization, LIST, call);
  else if (identityUid !== "" && identityUid !== uid)
    throw invalidArgument("identity_uid", "name the organization that the user has joined");
  const { limit } = parsePageRequest({ pageSize, skip: 0 });
  const binding = bindingOf(call, organization, identityUid);
  const after = pageToken === "" ? "" : (tokens.open(pageToken, binding, call.now)?.uid ?? "");
  const wanted = organization === "" ? uid : identityUid;
  const rows = await selectSessions(call, organization, wanted)
    .where("s.identity_uid", ">=", rootOf(after))
    .where("s.uid", ">", after)
    .limit(limit + 1)
    .execute();
  const page = rows.slice(0, limit);
  const last = rows.length > limit ? page.at(-1) : undefined;
  return create(ListSessionsResponseSchema, {
    sessions: page.map((row) => messageFromRow(row, organization, call)),
    nextPageToken: last === undefined ? "" : tokens.seal({ key: last.uid, uid: last.uid, skipped: 0 }, binding, call.now),
  });
}

/**
 * The sessions of a person, or of all people of the organization. The uid of a session begins with that of its user, so
 * both orders are the same. A token that is valid in one organization only knows the sessions that are, too.
 */
function selectSessions({ db, now, principal }: Call, organization: string, identityUid: string) {
  const within = principal?.within;
  const all = db
    .selectFrom("login_session as s")
    .selectAll("s")
    .where("s.expire_time", ">", now.toISOString())
    .$if(identityUid !== "", (query) => query.where("s.identity_uid", "=", identityUid))
    .$if(within !== undefined, (query) => query.where("s.within", "=", within ?? ""));
  if (organization === "") return all.orderBy("s.identity_uid").orderBy("s.uid");
  return all
    .innerJoin("membership as m", "m.identity_uid", "s.identity_uid")
    .where("m.org_uid", "=", organization)
    .where("m.state", "=", "joined")
    .where("s.within", "in", ["", organization])
    .orderBy("m.identity_uid")
    .orderBy("s.uid");
}

const KINDS: Readonly<Record<LoginSessionTable["kind"], Kind>> = {
  program: Kind.PROGRAM,
  page: Kind.PAGE,
  headless: Kind.HEADLESS,
  device: Kind.DEVICE,
  exchange: Kind.EXCHANGE,
  console: Kind.CONSOLE,
};

/** @param organization through which the caller sees the session; empty for an own one */
function messageFromRow(row: LoginSessionTable, organization: string, { principal }: Call): Session {
  const isShown = organization === "" || (row.provider !== "" && rootOf(row.provider) === organization);
  const time = (text: string) => timestampFromDate(new Date(text));
  return create(SessionSchema, {
    uid: row.uid,
    identityUid: row.identity_uid,
    kind: KINDS[row.kind],
    client: row.client,
    issuer: isShown || row.provider === "" ? row.issuer : "",
    identityProvider: isShown ? row.provider : "",
    methods: JSON.parse(row.methods) as string[],
    within: row.within,
    createTime: time(row.create_time),
    lastUseTime: time(row.last_use_time),
    expireTime: time(row.expire_time),
    remoteAddress: row.remote_address,
    userAgent: row.user_agent,
    current: row.uid === principal?.loginSession,
    organization,
  });
}
