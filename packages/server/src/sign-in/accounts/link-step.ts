/** Links an account with the person who has signed in at an organization's provider, once the person has agreed. */
import { findAccount } from "../../iam/accounts/account-record.ts";
import { linkAccount } from "../../iam/accounts/link-account.ts";
import type { Membership, PersonAccount } from "../../iam/identities/person-account.ts";
import { restoreAccount } from "../pending-account.ts";
import { SignInRefusal } from "../refusal.ts";
import { type AccountPage, showAccountPage } from "./account-page.ts";
import type { AccountParts } from "./account-parts.ts";
import type { AccountStep } from "./account-step.ts";

type LinkStep = Extract<AccountStep, { kind: "link" }>;

const CHANGED = "Your account has changed in the meantime. Open its page again.";
const DECLINED = "Nothing was linked.";
const LINKED = "Your account is linked. You can now sign in through your organization, too.";

/** @throws SignInRefusal, HoltError */
export async function takeLinkAnswer(step: LinkStep, isYes: boolean, browser: string, parts: AccountParts): Promise<AccountPage> {
  const { identityUid } = step.account;
  if (!isYes) return showAccountPage(identityUid, browser, { notice: DECLINED }, parts);
  const person = await linkSignedInPerson(step, parts);
  parts.log.info({ identity: identityUid, provider: person.member.provider.uid }, "an account was linked");
  return showAccountPage(identityUid, browser, { notice: LINKED }, parts);
}

/** @returns the person at the provider */
async function linkSignedInPerson(
  { account: { identityUid, version }, person: pending }: LinkStep,
  parts: AccountParts,
): Promise<PersonAccount & { readonly member: Membership }> {
  const { store, clock } = parts;
  const person = await restoreAccount(store.reader, pending);
  const { member } = person;
  if (member === undefined) throw new SignInRefusal(400, CHANGED);
  const linked = { ...person, member };
  await store.transaction(async (db) => {
    const account = await findAccount(db, identityUid);
    if (account?.update_time !== version || account.disabled_time !== null) throw new SignInRefusal(409, CHANGED);
    await linkAccount(db, { identityUid, person: linked, now: clock.now() }, parts);
  });
  return linked;
}
