/** Checks, in the transaction that begins a session, that the login still holds. */
import type { ReadDb } from "../../db/store.ts";
import { unauthenticated } from "../../lib/errors.ts";
import { rootOf } from "../../lib/uid.ts";
import { assertStillLinked } from "../accounts/account-links.ts";
import { accountVersion } from "../accounts/account-record.ts";
import { findDeactivations } from "../identities/scim-record.ts";
import type { Login } from "../tokens/login.ts";

/**
 * A login is decided before its session begins, up to a minute earlier in the console. The caller has locked the
 * identity, so that no session begins after a change that ends all of them.
 * @throws UNAUTHENTICATED if the account was recovered or changed, or the person was linked, unlinked or deactivated meanwhile
 */
export async function assertLoginLasts(
  db: ReadDb,
  { identityUid, profile, session, accountVersion: version }: Pick<Login, "identityUid" | "profile" | "session" | "accountVersion">,
): Promise<void> {
  if (version !== undefined && (await accountVersion(db, identityUid)) !== version)
    throw unauthenticated("the account has changed since this sign-in; sign in again");
  if (session === undefined) return;
  const { iss: issuer = "", sub: subject = "" } = profile.actor;
  const organizationUid = rootOf(session.provider);
  await assertStillLinked(db, { issuer, subject, identityUid }, organizationUid);
  if ((await findDeactivations(db, identityUid)).some((deactivation) => deactivation.organizationUid === organizationUid))
    throw unauthenticated("your organization's directory has deactivated this account since this sign-in");
}
