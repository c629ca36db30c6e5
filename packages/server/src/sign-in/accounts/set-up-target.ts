/** Finds the account for which a person sets up a way to sign in. */
import type { ReadDb } from "../../db/store.ts";
import { findAccount, newSubject, newUserHandle } from "../../iam/accounts/account-record.ts";
import { recoveryFromLink } from "../../iam/accounts/recovery.ts";
import { readInvite } from "../../iam/joining/invites.ts";
import { findInvitedOrganization } from "../../iam/policy/organization-page.ts";
import { rootOf } from "../../lib/uid.ts";
import type { SetUpTarget } from "./account-step.ts";

/** The organization of an invite accepts the address that it invited. @throws HoltError if the invite cannot be redeemed */
export async function newAccountTarget(db: ReadDb, invite: string, now: Date): Promise<SetUpTarget> {
  const { groupUid, groupName, roleName, email } = await readInvite(db, invite, now);
  const emailWithin = email === "" ? undefined : rootOf(groupUid);
  const draft = { subject: newSubject(), userHandle: newUserHandle(), email, emailWithin, name: "" };
  const organization = await findInvitedOrganization(db, invite, now);
  const shown = organization && { name: organization.name, logoPath: organization.logoPath };
  return { kind: "new", draft, invite, groupName, roleName, organization: shown };
}

/** @returns undefined if the link cannot be used, or the account is disabled */
export async function recoveryTarget(db: ReadDb, tokenHash: string, now: Date): Promise<SetUpTarget | undefined> {
  const recovery = await recoveryFromLink(db, tokenHash, now);
  const account = recovery && (await findAccount(db, recovery.identityUid));
  return recovery === undefined || account?.disabled_time !== null ? undefined : { kind: "recover", recovery };
}
