/** Links between accounts of this server and sign-ins of organizations: listing and removing them. */
import { create } from "@bufbuild/protobuf";
import {
  type AccountLink,
  AccountLinkSchema,
  AccountLinksService,
  type ListAccountLinksRequest,
  ListAccountLinksResponseSchema,
} from "@holt/api/gen/holt/v1/account_links_pb.ts";
import { Capability } from "@holt/api/gen/platform/capabilities/capabilities_pb.ts";
import { capabilitySet } from "../../access/capability-set.ts";
import { assertHolds } from "../../api/call/authorize.ts";
import type { Call, WriteCall } from "../../api/call/call.ts";
import { implement, read, write } from "../../api/call/implement.ts";
import { parsePageRequest } from "../../api/resource/list.ts";
import { bindingOf, type PageTokens } from "../../api/resource/page-token.ts";
import { timestampFromDate } from "../../lib/clock.ts";
import { invalidArgument, notFound, unauthenticated } from "../../lib/errors.ts";
import { isInRoot, isUid, rootOf } from "../../lib/uid.ts";
import { deleteLink, type NamedLink, selectLinks } from "../accounts/account-links.ts";
import { mailAccountNotice, type NoticeParts } from "../accounts/account-notices.ts";
import type { Grants } from "../grants/grants.ts";
import { isNarrowed } from "../tokens/narrowing.ts";

const LIST = capabilitySet([Capability.CAP_IAM_IDENTITY_PROVIDERS_LIST]);
const UPDATE = capabilitySet([Capability.CAP_IAM_IDENTITY_PROVIDERS_UPDATE]);

export interface AccountLinksCollaborators extends NoticeParts {
  readonly grants: Grants;
  readonly pageTokens: PageTokens;
}

export function accountLinksService(collaborators: AccountLinksCollaborators) {
  return implement(AccountLinksService, {
    listAccountLinks: read((request, call) => listLinks(request, call, collaborators.pageTokens)),
    removeAccountLink: write(({ uid }, call) => removeLink(uid, call, collaborators)),
  });
}

async function listLinks({ organization, pageSize, pageToken }: ListAccountLinksRequest, call: Call, tokens: PageTokens) {
  const { principal, db } = call;
  if (principal === undefined) throw unauthenticated("sign in first");
  const { uid, within } = principal;
  if (organization !== "") {
    if (!isUid(organization) || !isInRoot(organization))
      throw invalidArgument("organization", "organization must be the uid of an organization, or empty for own links");
    await assertHolds({ kind: "Group", uid: organization }, LIST, call.access, db);
  }
  const { limit } = parsePageRequest({ pageSize, skip: 0 });
  const binding = bindingOf(call, organization);
  const after = pageToken === "" ? "" : (tokens.open(pageToken, binding, call.now)?.uid ?? "");
  const rows = await selectLinks(db)
    .$if(organization === "", (query) => query.where("account_link.identity_uid", "=", uid))
    .$if(organization !== "", (query) => query.where("account_link.org_uid", "=", organization))
    // An organization that holds such a token of the person must not learn of others.
    .$if(within !== undefined, (query) => query.where("account_link.org_uid", "=", within ?? ""))
    .where("account_link.uid", ">", after)
    .orderBy("account_link.uid")
    .limit(limit + 1)
    .execute();
  const page = rows.slice(0, limit);
  const last = rows.length > limit ? page.at(-1) : undefined;
  return create(ListAccountLinksResponseSchema, {
    accountLinks: page.map(messageFromLink),
    nextPageToken: last === undefined ? "" : tokens.seal({ key: last.uid, uid: last.uid, skipped: 0 }, binding, call.now),
  });
}

/** @throws NOT_FOUND unless the link is the caller's own, or the caller may change the organization's providers */
async function removeLink(uid: string, call: WriteCall, collaborators: AccountLinksCollaborators): Promise<AccountLink> {
  const { principal, db, now } = call;
  const links = selectLinks(db).where("account_link.uid", "=", uid);
  const found = isUid(uid) && !isInRoot(uid) ? await links.executeTakeFirst() : undefined;
  const isOwn = found !== undefined && principal?.uid === found.identity_uid && !isNarrowed(principal);
  if (!isOwn) {
    if (found === undefined || !call.access.holds(LIST, rootOf(uid))) throw notFound("AccountLink", uid.slice(0, 200));
    await assertHolds({ kind: "Group", uid: rootOf(uid) }, UPDATE, call.access, db);
  }
  const link = await deleteLink(db, uid, collaborators.grants);
  if (link === undefined) throw notFound("AccountLink", uid.slice(0, 200));
  const event = `The link of your account with the sign-in “${link.name}” of “${link.organizationName}” was removed.`;
  if (!isOwn) await mailAccountNotice(db, { identityUid: link.identity_uid, event, now }, collaborators);
  return messageFromLink(link);
}

function messageFromLink(link: NamedLink): AccountLink {
  return create(AccountLinkSchema, {
    uid: link.uid,
    identityUid: link.identity_uid,
    organizationUid: link.org_uid,
    organizationName: link.organizationName,
    identityProviderUid: link.idp_uid,
    linkedIdentityUid: link.linked_uid,
    name: link.name,
    createTime: timestampFromDate(new Date(link.create_time)),
  });
}
