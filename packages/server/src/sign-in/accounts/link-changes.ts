/** Links the account whose page is open with sign-ins of organizations, and removes links. */
import type { WriteDb } from "../../db/store.ts";
import { appendAccountEvent } from "../../iam/accounts/account-events.ts";
import { deleteLink, findLinkableProviders, findLinks } from "../../iam/accounts/account-links.ts";
import type { BeginningBrowser } from "../browser.ts";
import { SignInRefusal } from "../refusal.ts";
import type { SignInResult } from "../sign-in-result.ts";
import type { ManageStep } from "./account-page.ts";
import type { AccountParts } from "./account-parts.ts";
import { changeOpenAccount } from "./open-account.ts";

/** Sends the person to the provider. @throws SignInRefusal */
export async function beginLink(
  { account }: ManageStep,
  provider: string,
  by: BeginningBrowser,
  parts: AccountParts,
): Promise<SignInResult> {
  const linkable = await findLinkableProviders(parts.store.reader, account.identityUid);
  if (!linkable.some(({ uid }) => uid === provider)) throw new SignInRefusal(400, "Your organization does not allow this link any more.");
  return parts.signIn.beginLink(account, provider, by);
}

/** @returns what was done */
export async function removeLink({ account }: ManageStep, uid: string, parts: AccountParts): Promise<string> {
  const { identityUid } = account;
  const remove = async (db: WriteDb) => {
    const own = (await findLinks(db, identityUid)).find((link) => link.uid === uid);
    const link = own && (await deleteLink(db, uid, parts.grants));
    if (link === undefined) throw new SignInRefusal(400, "This link was removed already.");
    const body = { link_uid: uid, organization_uid: link.org_uid, linked_identity_uid: link.linked_uid };
    const now = parts.clock.now();
    await appendAccountEvent(db, { name: "unlinked", identityUid, body, groups: [link.org_uid], now }, parts);
  };
  await changeOpenAccount(account, undefined, remove, parts);
  return "The link was removed.";
}
