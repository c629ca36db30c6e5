/** Shows the pages on which a person sets up a way to sign in: a passkey, or a password with an authenticator app. */
import { findAccount, type LocalAccount } from "../../iam/accounts/account-record.ts";
import { passkeysOf } from "../../iam/accounts/passkeys.ts";
import { totpUri } from "../../iam/accounts/totp.ts";
import { randomSecret } from "../pending.ts";
import type { AccountParts } from "./account-parts.ts";
import type { AccountStep, Continuation, SetUpTarget } from "./account-step.ts";

export interface SetUpPage {
  readonly kind: "set-up";
  readonly handle: string;
  readonly target: SetUpTarget;
  /** Options for a new passkey; undefined if browsers offer none here. */
  readonly passkeyOptions: object | undefined;
  /** The address of the account that cannot be changed here; empty if the person writes one. */
  readonly email: string;
  readonly needsCode: boolean;
  readonly problem: string | undefined;
}

export interface AppPage {
  readonly kind: "app";
  readonly handle: string;
  /** The content of the QR code. */
  readonly uri: string;
  readonly secret: string;
  readonly problem: string | undefined;
}

/** The browser that a page is shown to, and why its last answer was refused. */
export interface PageContext {
  readonly browser: string;
  readonly problem?: string;
}

/** Asks for a passkey or a password. */
export async function showSetUp(
  target: SetUpTarget,
  { request, query }: Continuation,
  { browser, problem }: PageContext,
  parts: AccountParts,
): Promise<SetUpPage> {
  const { steps, localAccounts } = parts;
  const challenge = randomSecret();
  const account = await findTargetAccount(target, parts);
  const handle = await steps.store({ kind: "set-up", target, request, query, challenge }, browser);
  const passkeyOptions = localAccounts.webauthn.isPossible ? await creationOptions(target, account, challenge, parts) : undefined;
  const needsCode = target.kind === "recover" && account !== undefined && localAccounts.needsCode(target.recovery, account);
  return { kind: "set-up", handle, target, passkeyOptions, email: fixedEmail(target, account), needsCode, problem };
}

/** Asks for the first code of a new authenticator app. */
export async function showApp(
  { target, request, query, password, secret }: Omit<Extract<AccountStep, { kind: "app" }>, "kind">,
  { browser, problem }: PageContext,
  { steps, baseUrl }: AccountParts,
): Promise<AppPage> {
  const handle = await steps.store({ kind: "app", target, request, query, password, secret }, browser);
  return { kind: "app", handle, uri: totpUri(secret, password.email, new URL(baseUrl).host), secret, problem };
}

/** @returns undefined for an account that does not exist yet */
export async function findTargetAccount(target: SetUpTarget, { store }: AccountParts): Promise<LocalAccount | undefined> {
  if (target.kind === "new") return undefined;
  return findAccount(store.reader, target.kind === "own" ? target.account.identityUid : target.recovery.identityUid);
}

/** The address that the person cannot change; empty for none. */
export function fixedEmail(target: SetUpTarget, account: LocalAccount | undefined): string {
  return target.kind === "new" ? target.draft.email : (account?.email ?? "");
}

async function creationOptions(
  target: SetUpTarget,
  account: LocalAccount | undefined,
  challenge: string,
  { store, localAccounts: { webauthn } }: AccountParts,
): Promise<object> {
  const userHandle = target.kind === "new" ? target.draft.userHandle : (account?.user_handle ?? "");
  const owner = { userHandle, label: fixedEmail(target, account) || account?.name || "Holt" };
  // A recovery replaces the passkeys, so an authenticator that has one may make another.
  const isKept = account !== undefined && target.kind !== "recover";
  return webauthn.creationOptions(owner, challenge, isKept ? await passkeysOf(store.reader, account.identity_uid) : []);
}
