/** Links a local account with a person of an organization's provider, after the person has signed in with both. */
import { sql } from "kysely";
import type { WriteDb } from "../../db/store.ts";
import { failedPrecondition } from "../../lib/errors.ts";
import { isAtOrBelow, newUid } from "../../lib/uid.ts";
import { deleteBindingsOf } from "../grants/bindings.ts";
import type { Grants } from "../grants/grants.ts";
import type { Membership, PersonAccount } from "../identities/person-account.ts";
import { recordMembership } from "../identities/provider-membership.ts";
import { bindOnce, lockRole } from "../joining/invites.ts";
import { endAllSessions } from "../tokens/refresh-token.ts";
import { type AccountEventParts, appendAccountEvent } from "./account-events.ts";
import { findLinkableProviders, findLinks } from "./account-links.ts";
import { lockAccount, updateAccount } from "./account-record.ts";

export interface AccountLinkRequest {
  /** The identity of the local account. */
  readonly identityUid: string;
  /** The person as the provider has signed it in. */
  readonly person: PersonAccount & { readonly member: Membership };
  readonly now: Date;
}

export interface LinkParts extends AccountEventParts {
  readonly grants: Grants;
}

interface MovedBinding {
  readonly group: string;
  readonly role: string;
}

/** One transaction moves them all. */
const MAX_MOVED_BINDINGS = 500;

/**
 * The account keeps its bindings and gets those of the person's own identity in the organization, whose sessions end.
 * @throws FAILED_PRECONDITION, PERMISSION_DENIED
 */
export async function linkAccount(db: WriteDb, { identityUid, person, now }: AccountLinkRequest, parts: LinkParts): Promise<void> {
  const { provider } = person.member;
  const { organizationUid } = provider;
  const { identityUid: linkedUid } = person;
  await lockAccount(db, identityUid);
  await assertLinkable(db, identityUid, person.member);
  const name = linkName(person);
  const uid = newUid(organizationUid);
  const { numInsertedOrUpdatedRows } = await db
    .insertInto("account_link")
    .values({
      uid,
      org_uid: organizationUid,
      identity_uid: identityUid,
      linked_uid: linkedUid,
      idp_uid: provider.uid,
      name,
      create_time: now.toISOString(),
    })
    .onConflict((conflict) => conflict.columns(["linked_uid", "org_uid"]).doNothing())
    .executeTakeFirstOrThrow();
  if (numInsertedOrUpdatedRows === 0n)
    throw failedPrecondition("LINKED_ELSEWHERE", "this sign-in is linked with another account; that account has to remove the link first");
  await recordMembership(db, { ...person, identityUid, within: organizationUid }, now, parts.grants);
  const bindings = await moveBindings(db, { from: linkedUid, to: identityUid, organizationUid, now });
  await endAllSessions(db, linkedUid);
  await db.deleteFrom("membership").where("identity_uid", "=", linkedUid).where("org_uid", "=", organizationUid).execute();
  await updateAccount(db, identityUid, {}, now);
  await parts.grants.recordChange(db, [identityUid, linkedUid]);
  const body = { link_uid: uid, organization_uid: organizationUid, identity_provider_uid: provider.uid, linked_identity_uid: linkedUid };
  const notice = `The sign-in “${name}” of your organization was linked with your account.`;
  await appendAccountEvent(
    db,
    { name: "linked", identityUid, body: { ...body, moved_bindings: bindings }, groups: [organizationUid], notice, now },
    parts,
  );
}

/** @throws FAILED_PRECONDITION unless the organization allows links, and the person has joined it */
async function assertLinkable(db: WriteDb, identityUid: string, { provider }: Membership): Promise<void> {
  const [link] = await findLinks(db, identityUid, provider.organizationUid);
  if (link !== undefined) throw failedPrecondition("ALREADY_LINKED", "the account is linked with a sign-in of this organization already");
  const providers = await findLinkableProviders(db, identityUid);
  if (!providers.some(({ uid }) => uid === provider.uid))
    throw failedPrecondition("LINKS_NOT_ALLOWED", "the organization does not allow links with accounts of this server");
}

export function linkName({ profile, email, subject }: PersonAccount): string {
  return (email ?? profile.actor.email ?? profile.upstream.name ?? subject).slice(0, 254);
}

interface Move {
  readonly from: string;
  readonly to: string;
  readonly organizationUid: string;
  readonly now: Date;
}

/**
 * Moves the bindings that it deletes, so that a concurrent one is not lost. Other organizations have bound the person's
 * own identity, and have not agreed to another one.
 */
async function moveBindings(db: WriteDb, { from, to, organizationUid, now }: Move): Promise<readonly MovedBinding[]> {
  const deleted = await deleteBindingsOf(db, sql<boolean>`identity_uid = ${from}`, MAX_MOVED_BINDINGS + 1);
  const bindings = deleted
    .toSorted((a, b) => (a.uid < b.uid ? -1 : 1))
    .map(({ parent, role_uid: role }) => ({ group: parent ?? "", role }));
  if (bindings.some(({ group }) => !isAtOrBelow(group, organizationUid)))
    throw failedPrecondition("BOUND_ELSEWHERE", "this sign-in has roles in other organizations; leave them first");
  if (bindings.length > MAX_MOVED_BINDINGS)
    throw failedPrecondition(
      "TOO_MANY_BINDINGS",
      `this sign-in has more than ${MAX_MOVED_BINDINGS} role bindings; ask to have some removed`,
    );
  for (const { group, role } of bindings)
    if (await lockRole(db, role)) await bindOnce(db, { identityUid: to, roleUid: role, groupUid: group }, now);
  return bindings;
}
