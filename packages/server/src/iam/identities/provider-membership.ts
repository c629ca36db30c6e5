/** What a login through an organization's identity provider begins there: the default role at the first one, the tie to the directory, the session's rights. */

import type { ProviderSession } from "../../access/principal.ts";
import type { ReadDb, WriteDb } from "../../db/store.ts";
import { permissionDenied } from "../../lib/errors.ts";
import type { Grants } from "../grants/grants.ts";
import { bindOnce, lockRole } from "../joining/invites.ts";
import type { PersonAccount } from "./person-account.ts";
import { linkScimUser } from "./scim-record.ts";
import { mappedSession } from "./session-mappings.ts";

/**
 * To be called in the transaction of every login, once the identity exists.
 * @throws PERMISSION_DENIED where the organization's directory has deactivated the person
 */
export async function recordMembership(db: WriteDb, { identityUid, member }: PersonAccount, now: Date, grants: Grants): Promise<void> {
  if (member === undefined) return;
  const { provider, externalId } = member;
  const linked = await linkScimUser(db, grants, { idpUid: provider.uid, identityUid, externalId, now });
  if (linked === "deactivated") throw deactivated();
  if (!(await isFirstLogin(db, provider.uid, identityUid, now))) return;
  if (provider.defaultRole === "" || !(await lockRole(db, provider.defaultRole))) return;
  const isNew = await bindOnce(db, identityUid, provider.defaultRole, provider.organizationUid, now);
  if (isNew) await grants.changed(db, [identityUid]);
}

/** Of two logins at once one is the first. */
async function isFirstLogin(db: WriteDb, idpUid: string, identityUid: string, now: Date): Promise<boolean> {
  const { numInsertedOrUpdatedRows } = await db
    .insertInto("provider_login")
    .values({ idp_uid: idpUid, identity_uid: identityUid, create_time: now.toISOString() })
    .onConflict((conflict) => conflict.columns(["idp_uid", "identity_uid"]).doNothing())
    .executeTakeFirstOrThrow();
  return numInsertedOrUpdatedRows === 1n;
}

/** What its groups give for as long as the session lasts; undefined for who came another way. After `recordMembership`, by which the directory's groups are found. */
export async function sessionOfAccount(db: ReadDb, { identityUid, member }: PersonAccount): Promise<ProviderSession | undefined> {
  return member && mappedSession(db, member.provider, identityUid, member.groups);
}

export function deactivated(): Error {
  return permissionDenied("your organization's directory has deactivated this account; ask whoever administers it there");
}
