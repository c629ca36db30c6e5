/**
 * Links local accounts with identities of organizations' providers. A login through the provider of the organization is
 * then a login of the account, valid in that organization only.
 */
import type { ReadDb, WriteDb } from "../../db/store.ts";
import { unauthenticated } from "../../lib/errors.ts";
import { isUid } from "../../lib/uid.ts";
import type { Grants } from "../grants/grants.ts";
import type { PersonAccount } from "../identities/person-account.ts";
import { userIdentityUid } from "../identities/user-identity.ts";
import type { AccountLinkTable } from "../tables.ts";
import { revokeLoginsThrough } from "../tokens/refresh-token.ts";

/** A provider with which the person may link the account. */
export interface LinkableProvider {
  readonly uid: string;
  readonly name: string;
  readonly organizationName: string;
}

/** A link with the names of its organization and provider. */
export interface NamedLink extends AccountLinkTable {
  readonly organizationName: string;
  /** Empty if the provider was deleted. */
  readonly providerName: string;
}

/** More organizations than a person joins. */
const MAX_LINKS = 100;

/** The account that a person of an organization's provider is linked with. @returns undefined without a link */
async function findLinkedAccount(db: ReadDb, linkedUid: string, organizationUid: string): Promise<string | undefined> {
  const links = db.selectFrom("account_link").select("identity_uid");
  const row = await links.where("linked_uid", "=", linkedUid).where("org_uid", "=", organizationUid).executeTakeFirst();
  return row?.identity_uid;
}

/** The person with the identity of the linked account. The organization's provider must not sign in to others with it. */
export async function resolveLinkedAccount(db: ReadDb, person: PersonAccount): Promise<PersonAccount> {
  const organizationUid = person.member?.provider.organizationUid;
  if (organizationUid === undefined) return person;
  const identityUid = await findLinkedAccount(db, person.identityUid, organizationUid);
  return identityUid === undefined ? person : { ...person, identityUid, within: organizationUid };
}

/** @throws UNAUTHENTICATED if the person was linked or unlinked since the login began */
export async function assertStillLinked(
  db: ReadDb,
  { issuer, subject, identityUid }: Pick<PersonAccount, "issuer" | "subject" | "identityUid">,
  organizationUid: string,
): Promise<void> {
  const own = userIdentityUid(issuer, subject);
  const linked = await findLinkedAccount(db, own, organizationUid);
  if ((linked ?? own) !== identityUid) throw unauthenticated("the account of this sign-in has changed; sign in again");
}

/** Links of a person, in the given organization or in all. */
export function findLinks(db: ReadDb, identityUid: string, organizationUid?: string): Promise<NamedLink[]> {
  return selectLinks(db)
    .where("account_link.identity_uid", "=", identityUid)
    .$if(organizationUid !== undefined, (query) => query.where("account_link.org_uid", "=", organizationUid ?? ""))
    .orderBy("account_link.uid")
    .limit(MAX_LINKS)
    .execute();
}

export function selectLinks(db: ReadDb) {
  return db
    .selectFrom("account_link")
    .innerJoin("group", "group.uid", "account_link.org_uid")
    .leftJoin("identity_provider", "identity_provider.uid", "account_link.idp_uid")
    .selectAll("account_link")
    .select((eb) => ["group.name as organizationName", eb.fn.coalesce("identity_provider.name", eb.val("")).as("providerName")]);
}

/** Providers of organizations that the person has joined, that allow links, and that have none with the account yet. */
export function findLinkableProviders(db: ReadDb, identityUid: string): Promise<LinkableProvider[]> {
  return db
    .selectFrom("membership")
    .innerJoin("sign_in_settings", "sign_in_settings.org_uid", "membership.org_uid")
    .innerJoin("identity_provider", "identity_provider.parent", "membership.org_uid")
    .innerJoin("group", "group.uid", "membership.org_uid")
    .select(["identity_provider.uid", "identity_provider.name", "group.name as organizationName"])
    .where("membership.identity_uid", "=", identityUid)
    .where("membership.state", "=", "joined")
    .where("sign_in_settings.allows_account_links", "=", 1)
    .where((where) =>
      where.not(
        where.exists(
          where
            .selectFrom("account_link")
            .select("account_link.uid")
            .where("account_link.identity_uid", "=", identityUid)
            .whereRef("account_link.org_uid", "=", "membership.org_uid"),
        ),
      ),
    )
    .orderBy("group.name")
    .orderBy("identity_provider.uid")
    .limit(MAX_LINKS)
    .execute();
}

/** Deletes the link and ends the logins through it. @returns undefined if there is no such link */
export async function deleteLink(db: WriteDb, uid: string, grants: Pick<Grants, "recordChange">): Promise<NamedLink | undefined> {
  const link = isUid(uid) ? await selectLinks(db).where("account_link.uid", "=", uid).executeTakeFirst() : undefined;
  if (link === undefined) return undefined;
  await db.deleteFrom("account_link").where("uid", "=", uid).execute();
  const providers = await db.selectFrom("identity_provider").select("uid").where("parent", "=", link.org_uid).execute();
  await revokeLoginsThrough(
    db,
    providers.map((provider) => provider.uid),
    [link.identity_uid],
  );
  await grants.recordChange(db, [link.identity_uid, link.linked_uid]);
  return link;
}
