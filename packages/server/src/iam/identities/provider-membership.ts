/**
 * Records a login through an organization's identity provider: grants the default role at the first login, links the
 * identity to the directory, and determines the rights of the session.
 */

import type { ProviderSession } from "../../access/principal.ts";
import type { ReadDb, WriteDb } from "../../db/store.ts";
import { isCleanText } from "../../lib/clean-text.ts";
import { permissionDenied } from "../../lib/errors.ts";
import { assertStillLinked } from "../accounts/account-links.ts";
import type { Grants } from "../grants/grants.ts";
import { bindOnce, lockRole } from "../joining/invites.ts";
import { join, recordSignIn } from "../joining/membership.ts";
import type { PersonAccount } from "./person-account.ts";
import { linkScimUser } from "./scim-record.ts";
import { createMappedSession } from "./session-mappings.ts";

/**
 * Call it in the transaction of every login, once the identity exists. Notes a new role binding for the audit entry of the transaction.
 * @returns whether the person got the default role
 * @throws PERMISSION_DENIED if the organization's directory deactivated the person; UNAUTHENTICATED if the person was
 * linked with another account meanwhile
 */
export async function recordMembership(db: WriteDb, account: PersonAccount, now: Date, grants: Grants): Promise<boolean> {
  const { identityUid, member } = account;
  if (member === undefined) return false;
  await assertStillLinked(db, account, member.provider.organizationUid);
  const { provider, externalId } = member;
  const linked = await linkScimUser(db, grants, { idpUid: provider.uid, identityUid, externalId, now });
  if (linked === "deactivated") throw deactivatedAccount();
  const { email = "" } = account.profile.actor;
  const joining = { identityUid, groupUid: provider.organizationUid, now, email: isCleanText(email) ? email : "" };
  if (!account.mayJoin) await recordSignIn(db, joining);
  else if (await join(db, joining)) await grants.recordChange(db, [identityUid]);
  if (!(await isFirstLogin(db, provider.uid, identityUid, now))) return false;
  if (provider.defaultRole === "" || !(await lockRole(db, provider.defaultRole))) return false;
  const { defaultRole: roleUid, organizationUid: groupUid } = provider;
  const isNew = await bindOnce(db, { identityUid, roleUid, groupUid }, now);
  if (isNew) await grants.recordChange(db, [identityUid]);
  return isNew;
}

/** Exactly one of two concurrent logins is the first. */
async function isFirstLogin(db: WriteDb, idpUid: string, identityUid: string, now: Date): Promise<boolean> {
  const { numInsertedOrUpdatedRows } = await db
    .insertInto("provider_login")
    .values({ idp_uid: idpUid, identity_uid: identityUid, create_time: now.toISOString() })
    .onConflict((conflict) => conflict.columns(["idp_uid", "identity_uid"]).doNothing())
    .executeTakeFirstOrThrow();
  return numInsertedOrUpdatedRows === 1n;
}

/**
 * The session with its mapped groups; undefined for other logins. Call it after `recordMembership`, which links the
 * directory's groups.
 */
export async function createProviderSession(db: ReadDb, { identityUid, member }: PersonAccount): Promise<ProviderSession | undefined> {
  return member && createMappedSession(db, member.provider, identityUid, member.groups);
}

function deactivatedAccount(): Error {
  return permissionDenied("your organization's directory has deactivated this account; ask its administrator");
}
