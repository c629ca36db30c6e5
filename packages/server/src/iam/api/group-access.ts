/** Lets people find the organization of the company behind their email address, and ask for access to it. Needs no capability. */
import { create } from "@bufbuild/protobuf";
import {
  CheckEligibilityResponseSchema,
  GroupSchema,
  type GroupsService,
  LookupGroupResponseSchema,
  RequestGroupAccessResponseSchema,
} from "@holt/api/gen/platform/iam/v2/groups_pb.ts";
import type { Principal } from "../../access/principal.ts";
import type { Call, WriteCall } from "../../api/call/call.ts";
import { type Handlers, read, write } from "../../api/call/implement.ts";
import type { ReadDb } from "../../db/store.ts";
import { isCleanText } from "../../lib/clean-text.ts";
import { Code, HoltError, resourceExhausted } from "../../lib/errors.ts";
import type { Log } from "../../lib/log.ts";
import { messageFromJson } from "../../lib/proto-json.ts";
import { isInRoot } from "../../lib/uid.ts";
import { isFreeMail } from "./free-mail.ts";

/** One person may ask an organization once in this time. */
const WINDOW_MS = 24 * 3_600_000;
/** RFC 5321 §4.5.3.1: 64 octets before the sign, 255 after it. */
const MAX_EMAIL = 320;

export interface GroupAccessCollaborators {
  readonly log: Log;
}

export function groupAccessMethods({
  log,
}: GroupAccessCollaborators): Pick<Handlers<typeof GroupsService>, "lookupGroup" | "requestGroupAccess" | "checkEligibility"> {
  return {
    lookupGroup: read(async (_request, call) => {
      const { body } = await organizationOf(call);
      return create(LookupGroupResponseSchema, { group: messageFromJson(GroupSchema, body) });
    }),

    requestGroupAccess: write(async ({ groupUid }, call) => {
      const { uid, email } = await organizationOf(call);
      if (uid !== groupUid) throw noOrganization();
      await recordRequest(uid, email, call);
      const identity = call.principal?.uid;
      // The server knows no mailbox of the owners, so the operator's log records the request.
      call.db.afterCommit(() => log.info({ group: uid, identity, email }, "a person asks for access to an organization"));
      return create(RequestGroupAccessResponseSchema);
    }),

    checkEligibility: read(async (_request, { principal }) =>
      create(CheckEligibilityResponseSchema, { eligible: companyOf(principal) !== undefined }),
    ),
  };
}

interface Company {
  readonly email: string;
  readonly domain: string;
}

/**
 * The company behind the caller's email address. Tokens carry an address only if a trusted issuer has verified it. A sign-in that is
 * confined to one organization has no access to others.
 */
function companyOf(principal: Principal | undefined): Company | undefined {
  if (principal?.email === undefined || !principal.emailVerified || principal.within !== undefined || !isInRoot(principal.uid))
    return undefined;
  const { email } = principal;
  if (!email.includes("@") || email.length > MAX_EMAIL || !isCleanText(email)) return undefined;
  const domain = email.slice(email.lastIndexOf("@") + 1).toLowerCase();
  return domain === "" || isFreeMail(domain) ? undefined : { email, domain };
}

/** @throws NOT_FOUND, with the same text for every reason */
async function organizationOf({ principal, db }: Call): Promise<{ readonly uid: string; readonly body: string; readonly email: string }> {
  const company = companyOf(principal);
  const found = company && (await verifiedOrganization(company.domain, db));
  if (company === undefined || found === undefined) throw noOrganization();
  return { ...found, email: company.email };
}

function verifiedOrganization(name: string, db: ReadDb) {
  return db.selectFrom("group").select(["uid", "body"]).where("name", "=", name).where("verified", "=", 1).executeTakeFirst();
}

function noOrganization(): HoltError {
  return new HoltError(Code.NOT_FOUND, "Not found: no organization admits your email address; ask one of its members for an invite", {
    resource: { kind: "Group", uid: "" },
  });
}

/**
 * One of several concurrent requests is recorded. @throws RESOURCE_EXHAUSTED; NOT_FOUND if the organization was just
 * deleted
 */
async function recordRequest(groupUid: string, email: string, { db, principal, now }: WriteCall): Promise<void> {
  const identityUid = principal?.uid ?? "";
  const group = await db.dialect.forKeyShare(db.selectFrom("group").select("uid").where("uid", "=", groupUid)).executeTakeFirst();
  if (group === undefined) throw noOrganization();
  const times = { create_time: now.toISOString(), email };
  const { numInsertedOrUpdatedRows } = await db
    .insertInto("access_request")
    .values({ group_uid: groupUid, identity_uid: identityUid, ...times })
    .onConflict((conflict) =>
      conflict
        .columns(["group_uid", "identity_uid"])
        .doUpdateSet(times)
        .where("access_request.create_time", "<=", new Date(now.getTime() - WINDOW_MS).toISOString()),
    )
    .executeTakeFirstOrThrow();
  if (numInsertedOrUpdatedRows === 1n) return;
  const query = db.selectFrom("access_request").select("create_time").where("group_uid", "=", groupUid);
  const { create_time: last } = await query.where("identity_uid", "=", identityUid).executeTakeFirstOrThrow();
  const wait = Math.ceil((Date.parse(last) + WINDOW_MS - now.getTime()) / 1000);
  throw resourceExhausted("you have asked already; you may ask once a day", Math.max(wait, 1));
}
