/** Shows a person the own account, and changes its ways to sign in. Only a person who has just signed in gets here. */
import type { ReadDb, WriteDb } from "../../db/store.ts";
import { type AccountEvent, appendAccountEvent } from "../../iam/accounts/account-events.ts";
import { deleteLink, findLinkableProviders, findLinks, type LinkableProvider, type NamedLink } from "../../iam/accounts/account-links.ts";
import { NOTICES } from "../../iam/accounts/account-notices.ts";
import { accountVersion, findAccount, type LocalAccount, lockAccount, updateAccount } from "../../iam/accounts/account-record.ts";
import { endSessions } from "../../iam/accounts/credentials.ts";
import { mailConfirmation } from "../../iam/accounts/email-confirmation.ts";
import { isRefused, passkeysOf, removePasskey, renamePasskey, type StoredPasskey } from "../../iam/accounts/passkeys.ts";
import { countRecoveryCodes, replaceRecoveryCodes } from "../../iam/accounts/recovery-codes.ts";
import { HoltError } from "../../lib/errors.ts";
import { randomSecret } from "../pending.ts";
import { refusalFrom, SignInRefusal } from "../refusal.ts";
import type { Beginner, SignInResult } from "../sign-in.ts";
import { passkeyName, readSetUpFields } from "./account-form-fields.ts";
import type { AccountParts } from "./account-parts.ts";
import type { AccountStep, Continuation, OpenAccount } from "./account-step.ts";
import type { AppPage, SetUp } from "./set-up.ts";

type ManageStep = Extract<AccountStep, { kind: "manage" }>;

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

export interface AccountPages {
  show(identityUid: string, browser: string, said?: Partial<Pick<AccountPage, "notice" | "problem">>): Promise<AccountPage>;
  /** @throws SignInRefusal */
  change(
    step: ManageStep,
    form: URLSearchParams,
    by: { readonly browser: string; readonly remoteAddress: string | undefined },
  ): Promise<AccountPage | AppPage | CodesPage | SignInResult>;
}

const CLOSED = "Your account has changed in the meantime, or is disabled. Sign in again.";
const NO_MAIL = "No mail was sent: this address got too many within an hour, or it cannot get mails. Try again in an hour.";
const CODES_REPLACED = { name: "recovery_codes_replaced", notice: NOTICES.codesReplaced } as const;
const TO_PAGE: Continuation = { request: undefined, query: "" };

/** @returns undefined for an account that does not exist or is disabled */
export async function findOpenAccount(db: ReadDb, identityUid: string): Promise<LocalAccount | undefined> {
  const account = await findAccount(db, identityUid);
  return account?.disabled_time === null ? account : undefined;
}

export function createAccountPages(parts: AccountParts, setUps: SetUp): AccountPages {
  const { store, clock, secrets, steps, localAccounts } = parts;
  const { webauthn } = localAccounts;

  async function show(identityUid: string, browser: string, said: Partial<AccountPage> = {}): Promise<AccountPage> {
    const account = await findOpenAccount(store.reader, identityUid);
    if (account === undefined) throw new SignInRefusal(403, CLOSED);
    const challenge = randomSecret();
    const passkeys = await passkeysOf(store.reader, identityUid);
    const open = { identityUid, version: account.update_time };
    const handle = await steps.store({ kind: "manage", ...TO_PAGE, account: open, challenge }, browser);
    const owner = { userHandle: account.user_handle, label: account.email || account.name };
    const passkeyOptions = webauthn.isPossible ? webauthn.creationOptions(owner, challenge, passkeys) : undefined;
    const codesLeft = await countRecoveryCodes(store.reader, identityUid);
    const canConfirm = parts.mailer.isConfigured && account.email !== "" && account.email_verified_time === null;
    const links = await findLinks(store.reader, identityUid);
    const linkable = await findLinkableProviders(store.reader, identityUid);
    const { notice, problem } = said;
    return { kind: "manage", handle, account, passkeys, codesLeft, links, linkable, canConfirm, passkeyOptions, notice, problem };
  }

  /** Runs a change of an account that nobody has changed since its page was shown. */
  function changing<T>(
    { identityUid, version }: OpenAccount,
    event: Pick<AccountEvent, "name" | "notice"> | undefined,
    work: (db: WriteDb) => Promise<T>,
  ): Promise<T> {
    const now = clock.now();
    return store.transaction(async (db) => {
      const account = await lockAccount(db, identityUid);
      if (account.update_time !== version || account.disabled_time !== null) throw new SignInRefusal(409, CLOSED);
      const result = await work(db);
      await updateAccount(db, identityUid, {}, now);
      if (event !== undefined) await appendAccountEvent(db, { ...event, identityUid, now }, parts);
      return result;
    });
  }

  async function addPasskey({ account, challenge }: ManageStep, form: URLSearchParams): Promise<string> {
    const name = passkeyName(form.get("name") ?? "", clock.now());
    const passkey = await webauthn.verifyCreation(form.get("credential") ?? "", challenge, name);
    if (passkey === undefined) throw new SignInRefusal(400, "The browser did not make a passkey for this server. Try again.");
    await setUps.give({ kind: "own", account }, { kind: "passkey", passkey }, { code: "", remoteAddress: undefined });
    return "The passkey was added.";
  }

  async function removePassword({ account }: ManageStep): Promise<string> {
    await changing(account, { name: "password_changed", notice: NOTICES.passwordRemoved }, async (db) => {
      if ((await passkeysOf(db, account.identityUid)).every(isRefused))
        throw new SignInRefusal(400, "The password is the only way into your account. Add a passkey first.");
      const none = { password_hash: null, email_key: null, totp_secret: null, totp_step: null };
      await updateAccount(db, account.identityUid, none, clock.now());
    });
    return "The password and the authenticator app were removed.";
  }

  async function confirmAddress({ account: { identityUid, version } }: ManageStep): Promise<string> {
    const now = clock.now();
    await changing({ identityUid, version }, undefined, async (db) => {
      const { email, name, email_verified_time } = await lockAccount(db, identityUid);
      if (email === "" || email_verified_time !== null) throw new SignInRefusal(400, "There is no address to confirm.");
      if (!(await mailConfirmation(db, { identityUid, email, name, now }, parts))) throw new SignInRefusal(400, NO_MAIL);
    });
    return "The mail is on its way. Open the link in it.";
  }

  async function beginLink({ account }: ManageStep, provider: string, by: Beginner): Promise<SignInResult> {
    const linkable = await findLinkableProviders(store.reader, account.identityUid);
    if (!linkable.some(({ uid }) => uid === provider)) throw new SignInRefusal(400, "Your organization does not allow this link any more.");
    return parts.signIn.beginLink(account, provider, by);
  }

  async function removeLink({ account }: ManageStep, uid: string): Promise<string> {
    const { identityUid } = account;
    await changing(account, undefined, async (db) => {
      const own = (await findLinks(db, identityUid)).find((link) => link.uid === uid);
      const link = own && (await deleteLink(db, uid, parts.grants));
      if (link === undefined) throw new SignInRefusal(400, "This link was removed already.");
      const body = { link_uid: uid, organization_uid: link.org_uid, linked_identity_uid: link.linked_uid };
      await appendAccountEvent(db, { name: "unlinked", identityUid, body, groups: [link.org_uid], now: clock.now() }, parts);
    });
    return "The link was removed.";
  }

  /** @returns what was done */
  async function changeAtOnce(action: string, step: ManageStep, form: URLSearchParams): Promise<string> {
    const { account } = step;
    const key = { identityUid: account.identityUid, uid: form.get("passkey") ?? "" };
    const now = clock.now();
    switch (action) {
      case "add-passkey":
        return addPasskey(step, form);
      case "confirm-address":
        return confirmAddress(step);
      case "rename-passkey":
        await changing(account, { name: "passkey_renamed" }, (db) => renamePasskey(db, key, passkeyName(form.get("name") ?? "", now)));
        return "The passkey was renamed.";
      case "remove-passkey":
        await changing(account, { name: "passkey_removed", notice: NOTICES.passkeyRemoved }, (db) => removePasskey(db, key));
        return "The passkey was removed.";
      case "remove-link":
        return removeLink(step, form.get("link") ?? "");
      case "remove-password":
        return removePassword(step);
      case "end-sessions":
        await changing(account, { name: "sessions_ended" }, (db) => endSessions(db, account.identityUid, now));
        return "You are signed out everywhere, and programs have lost their tokens.";
      default:
        throw new SignInRefusal(400, "The page sent an unknown answer. Open it again.");
    }
  }

  async function changePassword({ account, challenge }: ManageStep, form: URLSearchParams, remoteAddress: string | undefined) {
    const target = { kind: "own", account } as const;
    const chosen = await setUps.read({ target, challenge }, { ...readSetUpFields(form), credential: "" }, remoteAddress);
    if (chosen.kind === "problem") throw new SignInRefusal(400, chosen.problem);
    if (chosen.kind === "credential") await setUps.give(target, chosen.credential, { code: "", remoteAddress });
    return chosen;
  }

  return {
    show,
    async change(step, form, { browser, remoteAddress }) {
      const { identityUid } = step.account;
      const action = form.get("action") ?? "";
      try {
        if (action === "recovery-codes") {
          const codes = await changing(step.account, CODES_REPLACED, (db) => replaceRecoveryCodes(db, identityUid, secrets));
          const person = { identityUid, version: await accountVersion(store.reader, identityUid) };
          return { kind: "codes", handle: await steps.store({ kind: "continue", ...TO_PAGE, ...person }, browser), codes };
        }
        if (action === "link") return await beginLink(step, form.get("provider") ?? "", { browser, remoteAddress });
        if (action !== "password") return await show(identityUid, browser, { notice: await changeAtOnce(action, step, form) });
        const chosen = await changePassword(step, form, remoteAddress);
        if (chosen.kind === "app") return await setUps.askForApp({ ...TO_PAGE, ...chosen }, browser);
        return await show(identityUid, browser, { notice: "The password was changed." });
      } catch (error) {
        // The person stays on the page, unless it is closed.
        const isProblem = (error instanceof SignInRefusal && error.status === 400) || error instanceof HoltError;
        if (!isProblem) throw error;
        const { status, message } = refusalFrom(error, parts.log);
        if (status >= 500) throw error;
        return show(identityUid, browser, { problem: message });
      }
    },
  };
}
