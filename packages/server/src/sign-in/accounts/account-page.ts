/** Shows a person the own account. Only a person who has just signed in gets here. */
import { findLinkableProviders, findLinks, type LinkableProvider, type NamedLink } from "../../iam/accounts/account-links.ts";
import type { LocalAccount } from "../../iam/accounts/account-record.ts";
import { passkeysOf, type StoredPasskey } from "../../iam/accounts/passkeys.ts";
import { countRecoveryCodes } from "../../iam/accounts/recovery-codes.ts";
import { randomSecret } from "../pending.ts";
import { SignInRefusal } from "../refusal.ts";
import type { AccountParts } from "./account-parts.ts";
import type { AccountStep, Continuation } from "./account-step.ts";
import { CLOSED_PAGE, findOpenAccount } from "./open-account.ts";

export type ManageStep = Extract<AccountStep, { kind: "manage" }>;

export interface AccountPage {
  readonly kind: "manage";
  readonly handle: string;
  readonly account: LocalAccount;
  readonly passkeys: readonly StoredPasskey[];
  readonly codesLeft: number;
  /** Options for another passkey; undefined if browsers offer none here. */
  readonly passkeyOptions: object | undefined;
  /** Sign-ins of organizations that are linked with the account. */
  readonly links: readonly NamedLink[];
  /** Providers that the account can be linked with. */
  readonly linkable: readonly LinkableProvider[];
  /** Whether a mail can confirm the address. */
  readonly canConfirm: boolean;
  /** Message about the last change. */
  readonly notice: string | undefined;
  readonly problem: string | undefined;
}

export interface CodesPage {
  readonly kind: "codes";
  readonly handle: string;
  readonly codes: readonly string[];
}

export const TO_ACCOUNT_PAGE: Continuation = { request: undefined, query: "" };

/** @throws SignInRefusal */
export async function showAccountPage(
  identityUid: string,
  browser: string,
  { notice, problem }: Partial<Pick<AccountPage, "notice" | "problem">>,
  { store, steps, mailer, localAccounts: { webauthn } }: AccountParts,
): Promise<AccountPage> {
  const account = await findOpenAccount(store.reader, identityUid);
  if (account === undefined) throw new SignInRefusal(403, CLOSED_PAGE);
  const challenge = randomSecret();
  const passkeys = await passkeysOf(store.reader, identityUid);
  const open = { identityUid, version: account.update_time };
  const handle = await steps.store({ kind: "manage", ...TO_ACCOUNT_PAGE, account: open, challenge }, browser);
  const owner = { userHandle: account.user_handle, label: account.email || account.name };
  const passkeyOptions = webauthn.isPossible ? webauthn.creationOptions(owner, challenge, passkeys) : undefined;
  const codesLeft = await countRecoveryCodes(store.reader, identityUid);
  const canConfirm = mailer.isConfigured && account.email !== "" && account.email_verified_time === null;
  const links = await findLinks(store.reader, identityUid);
  const linkable = await findLinkableProviders(store.reader, identityUid);
  return { kind: "manage", handle, account, passkeys, codesLeft, links, linkable, canConfirm, passkeyOptions, notice, problem };
}
