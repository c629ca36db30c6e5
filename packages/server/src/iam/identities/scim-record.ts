/**
 * Connects logins with the accounts that a company's directory provisions: whether a person is still active, and in
 * which groups. scim/ writes what the directory sends.
 */
import type { JoinBuilder } from "kysely";
import type { Schema } from "../../db/schema.ts";
import type { ReadDb, WriteDb } from "../../db/store.ts";
import { rootOf } from "../../lib/uid.ts";
import type { Grants } from "../grants/grants.ts";

/** A directory has deactivated or deleted the person's account. */
export interface Deactivation {
  readonly idpUid: string;
  /**
   * Uid of the directory's organization. The deactivation counts only there, since any organization can register any
   * issuer.
   */
  readonly organizationUid: string;
  /**
   * Whether the person has logged in through the provider. A directory can provision any account, but only people who
   * logged in through it belong to it.
   */
  readonly hasLoggedIn: boolean;
}

export interface ScimGroup {
  readonly idpUid: string;
  readonly id: string;
  /** Name that mappings use: the external id, or the display name if the directory sends none. */
  readonly externalGroup: string;
}

/** A login through an identity provider. */
export interface ScimLogin {
  readonly idpUid: string;
  readonly identityUid: string;
  /** Value that the provider's correlation rule compares: the claim `sub` or `oid`. */
  readonly externalId: string;
  readonly now: Date;
}

/** Characters. The same limit applies to accounts that a directory sends. */
const MAX_EXTERNAL_ID_LENGTH = 500;

/** Deactivations of the identity by all directories. */
export async function findDeactivations(db: ReadDb, identityUid: string): Promise<Deactivation[]> {
  const rows = await db
    .selectFrom("scim_identity")
    .innerJoin("scim_user", joinAccounts)
    .select(["scim_user.idp_uid as idpUid", "scim_identity.login_time as loginTime"])
    .where("scim_identity.identity_uid", "=", identityUid)
    .where("scim_user.active", "=", 0)
    .execute();
  return rows.map(({ idpUid, loginTime }) => ({ idpUid, organizationUid: rootOf(idpUid), hasLoggedIn: loginTime !== null }));
}

/** Groups of the identity's active accounts at all providers. */
export async function findScimGroups(db: ReadDb, identityUid: string): Promise<ScimGroup[]> {
  const rows = await db
    .selectFrom("scim_identity")
    .innerJoin("scim_user", joinAccounts)
    .innerJoin("scim_group_member", "scim_group_member.user_id", "scim_user.id")
    .innerJoin("scim_group", "scim_group.id", "scim_group_member.group_id")
    .select(["scim_group.id", "scim_group.idp_uid", "scim_group.external_id", "scim_group.body"])
    .where("scim_identity.identity_uid", "=", identityUid)
    .where("scim_user.active", "=", 1)
    .orderBy("scim_group.id")
    .execute();
  return rows.map(({ id, idp_uid, external_id, body }) => ({
    id,
    idpUid: idp_uid,
    externalGroup: external_id ?? (JSON.parse(body) as { displayName: string }).displayName,
  }));
}

/**
 * Links the identity to an account in the directory. Call it in the transaction of every login through an identity
 * provider. From then on, deactivating the account affects the identity, even if the account is provisioned later.
 * @returns `unknown` if the directory has not provisioned the person; `deactivated` if the login must be refused
 */
export async function linkScimUser(db: WriteDb, grants: Grants, login: ScimLogin): Promise<"active" | "deactivated" | "unknown"> {
  const { idpUid, identityUid, externalId } = login;
  if (externalId === "" || externalId.length > MAX_EXTERNAL_ID_LENGTH || externalId.includes("\0")) return "unknown";
  if (await recordLogin(db, login)) await grants.recordChange(db, [identityUid]);
  const account = db.selectFrom("scim_user").select("active").where("idp_uid", "=", idpUid).where("external_id", "=", externalId);
  // Locked, so that a deactivation at the same moment comes first or ends the logins of this identity, too.
  const user = await db.dialect.forShare(account).executeTakeFirst();
  if (user === undefined) return "unknown";
  return user.active === 1 ? "active" : "deactivated";
}

/** @returns whether it is the first login */
async function recordLogin(db: WriteDb, { idpUid, identityUid, externalId, now }: ScimLogin): Promise<boolean> {
  const { numInsertedOrUpdatedRows } = await db
    .insertInto("scim_identity")
    .values({ idp_uid: idpUid, external_id: externalId, identity_uid: identityUid, login_time: now.toISOString() })
    .onConflict((conflict) =>
      conflict
        .columns(["idp_uid", "external_id", "identity_uid"])
        .doUpdateSet({ login_time: now.toISOString() })
        .where("scim_identity.login_time", "is", null),
    )
    .executeTakeFirstOrThrow();
  return numInsertedOrUpdatedRows === 1n;
}

function joinAccounts<T extends JoinBuilder<Schema, "scim_identity" | "scim_user">>(join: T): T {
  return join
    .onRef("scim_user.idp_uid", "=", "scim_identity.idp_uid")
    .onRef("scim_user.external_id", "=", "scim_identity.external_id") as T;
}
