/** Finds what the pages of sign-in show of an organization, and what they offer for it. */
import type { ReadDb } from "../../db/store.ts";
import { sha256Hex } from "../../lib/sha256.ts";
import { isInRoot, isUid, rootOf } from "../../lib/uid.ts";
import { logoPath } from "../logos/logo-path.ts";
import { readPolicies, type SignInPolicy } from "./sign-in-policy.ts";

export interface OrganizationPage {
  readonly uid: string;
  readonly name: string;
  /** Path of the logo on this server; undefined without one. */
  readonly logoPath: string | undefined;
  readonly policy: SignInPolicy;
  /** Its identity providers: uid and name. */
  readonly providers: readonly { readonly uid: string; readonly name: string }[];
}

const OPEN: SignInPolicy = { forbidsLocalAccounts: false, requiresSecondFactor: false, requiresOwnProvider: false };
const MAX_PROVIDERS = 10;

/** The organization that an invite leads to, for anybody who has its code. Undefined for a code that is no longer good. */
export async function findInvitedOrganization(db: ReadDb, code: string, now: Date): Promise<OrganizationPage | undefined> {
  const invite = db.selectFrom("group_invite").select("parent").where("code_hash", "=", sha256Hex(code));
  const found = await invite.where("expiration_time", ">", now.toISOString()).executeTakeFirst();
  return found?.parent === undefined || found.parent === null ? undefined : findOrganization(db, rootOf(found.parent));
}

/** An organization without settings is not found, so anonymous callers cannot learn its name. */
export async function findOrganizationWithSettings(db: ReadDb, uid: string): Promise<OrganizationPage | undefined> {
  if (!isUid(uid) || !isInRoot(uid)) return undefined;
  const known = await db.selectFrom("sign_in_settings").select("org_uid").where("org_uid", "=", uid).executeTakeFirst();
  return known && findOrganization(db, uid);
}

async function findOrganization(db: ReadDb, uid: string): Promise<OrganizationPage | undefined> {
  const row = await db
    .selectFrom("group")
    .leftJoin("sign_in_settings as s", "s.org_uid", "group.uid")
    .select(["group.name", "s.display_name", "s.logo"])
    .where("group.uid", "=", uid)
    .executeTakeFirst();
  if (row === undefined) return undefined;
  const { name, display_name: displayName, logo } = row;
  const providers = db.selectFrom("identity_provider").select(["uid", "name"]).where("parent", "=", uid);
  return {
    uid,
    name: displayName === null || displayName === "" ? name : displayName,
    logoPath: logo === null || logo === "" ? undefined : logoPath(uid, logo),
    policy: (await readPolicies(db, [uid])).get(uid) ?? OPEN,
    providers: await providers.orderBy("name").orderBy("uid").limit(MAX_PROVIDERS).execute(),
  };
}

/** @returns undefined if the organization has no logo */
export async function findLogo(db: ReadDb, uid: string): Promise<{ readonly type: string; readonly bytes: Buffer } | undefined> {
  if (!isUid(uid)) return undefined;
  const row = await db.selectFrom("sign_in_settings").select(["logo_type", "logo"]).where("org_uid", "=", uid).executeTakeFirst();
  return row === undefined || row.logo === "" ? undefined : { type: row.logo_type, bytes: Buffer.from(row.logo, "base64") };
}
