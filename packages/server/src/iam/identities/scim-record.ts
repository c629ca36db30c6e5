/** What a company's directory says of those who log in: whether they still belong, and their groups. What the directory sends is written in scim/. */
import type { JoinBuilder } from "kysely";
import type { Schema } from "../../db/schema.ts";
import type { ReadDb, WriteDb } from "../../db/store.ts";
import { rootOf } from "../../lib/uid.ts";
import type { Grants } from "../grants/grants.ts";

/** That a directory has deactivated or deleted somebody. */
export interface Deactivation {
  readonly idpUid: string;
  /** The directory's, and the only place where what it says counts: anybody may register any issuer for an organization of their own. */
  readonly organizationUid: string;
  /** Whether the person did log in through the provider. A directory can name anybody; who came through it is its own. */
  readonly hasLoggedIn: boolean;
}

export interface ScimGroup {
  readonly idpUid: string;
  readonly id: string;
  /** What mappings call it: its external id, or where the directory gave none, its display name. */
  readonly externalGroup: string;
}

/** A login through an identity provider. */
export interface ScimLogin {
  readonly idpUid: string;
  readonly identityUid: string;
  /** What the provider's correlation rule compares: the claim `sub`, or `oid`. */
  readonly externalId: string;
  readonly now: Date;
}

/** That of the accounts a directory may send. */
const MAX_EXTERNAL_ID = 500;

/** All directories that have deactivated the identity. */
export async function deactivationsOf(db: ReadDb, identityUid: string): Promise<Deactivation[]> {
  const rows = await db
    .selectFrom("scim_identity")
    .innerJoin("scim_user", accountOfIdentity)
    .select(["scim_user.idp_uid as idpUid", "scim_identity.login_time as loginTime"])
    .where("scim_identity.identity_uid", "=", identityUid)
    .where("scim_user.active", "=", 0)
    .execute();
  return rows.map(({ idpUid, loginTime }) => ({ idpUid, organizationUid: rootOf(idpUid), hasLoggedIn: loginTime !== null }));
}

/** The groups of the identity's active accounts, of all providers that know it. */
export async function scimGroupsOf(db: ReadDb, identityUid: string): Promise<ScimGroup[]> {
  const rows = await db
    .selectFrom("scim_identity")
    .innerJoin("scim_user", accountOfIdentity)
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
 * To be called in the transaction of every login through an identity provider: from then on the identity is the person of that account, also of one that is
 * provisioned later, and what becomes of the account matters to it.
 * @returns `unknown` where the directory has not provisioned the person; `deactivated` where the login must be refused
 */
export async function linkScimUser(db: WriteDb, grants: Grants, login: ScimLogin): Promise<"active" | "deactivated" | "unknown"> {
  const { idpUid, identityUid, externalId } = login;
  if (externalId === "" || externalId.length > MAX_EXTERNAL_ID || externalId.includes("\0")) return "unknown";
  if (await recordLogin(db, login)) await grants.changed(db, [identityUid]);
  const user = await db
    .selectFrom("scim_user")
    .select("active")
    .where("idp_uid", "=", idpUid)
    .where("external_id", "=", externalId)
    .executeTakeFirst();
  if (user === undefined) return "unknown";
  return user.active === 1 ? "active" : "deactivated";
}

/** @returns whether it is the first */
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

function accountOfIdentity<T extends JoinBuilder<Schema, "scim_identity" | "scim_user">>(join: T): T {
  return join
    .onRef("scim_user.idp_uid", "=", "scim_identity.idp_uid")
    .onRef("scim_user.external_id", "=", "scim_identity.external_id") as T;
}
