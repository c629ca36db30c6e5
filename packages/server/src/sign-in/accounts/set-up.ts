/** Sets up ways to sign in: for a new account, for one that is recovered, and for one whose page is open. */
import type { WriteDb } from "../../db/store.ts";
import { networkOf } from "../../http/remote-network.ts";
import { type AccountEvent, appendAccountEvent } from "../../iam/accounts/account-events.ts";
import { mailOthersWithAddress, NOTICES } from "../../iam/accounts/account-notices.ts";
import { findAccount, type LocalAccount, lockAccount, personFromDraft } from "../../iam/accounts/account-record.ts";
import { type NewCredential, setCredential } from "../../iam/accounts/credentials.ts";
import { mailConfirmation } from "../../iam/accounts/email-confirmation.ts";
import { passkeysOf } from "../../iam/accounts/passkeys.ts";
import { passwordFault } from "../../iam/accounts/password-rules.ts";
import { findTotpStep, newTotpSecret, totpUri } from "../../iam/accounts/totp.ts";
import { rootOf } from "../../lib/uid.ts";
import { randomSecret } from "../pending.ts";
import { SignInRefusal } from "../refusal.ts";
import { appendRegistrationEvent } from "../registered-event.ts";
import { passkeyName, personFault, type SetUpFields } from "./account-form-fields.ts";
import type { AccountParts } from "./account-parts.ts";
import type { AccountStep, ChosenPassword, Continuation, OpenAccount, SetUpTarget } from "./account-step.ts";

type Step<K extends AccountStep["kind"]> = Extract<AccountStep, { kind: K }>;

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

export type Chosen =
  | { readonly kind: "problem"; readonly problem: string }
  | { readonly kind: "credential"; readonly target: SetUpTarget; readonly credential: NewCredential }
  /** The person has to prove an authenticator app. */
  | { readonly kind: "app"; readonly target: SetUpTarget; readonly password: ChosenPassword; readonly secret: string };

/** Proof of the person who uses a way to sign in that was set up. */
export interface SetUpProof {
  readonly code: string;
  readonly remoteAddress: string | undefined;
}

export interface Given {
  readonly identityUid: string;
  /** New recovery codes; undefined if the old ones stay. */
  readonly codes: readonly string[] | undefined;
}

export interface SetUp {
  /** Asks for a passkey or a password. */
  ask(target: SetUpTarget, then: Continuation, browser: string, problem?: string): Promise<SetUpPage>;
  /** @throws RESOURCE_EXHAUSTED */
  read(step: Pick<Step<"set-up">, "target" | "challenge">, fields: SetUpFields, remoteAddress: string | undefined): Promise<Chosen>;
  askForApp(step: Omit<Step<"app">, "kind">, browser: string, problem?: string): Promise<AppPage>;
  /** @returns undefined for a wrong code */
  proveApp(step: Step<"app">, code: string): NewCredential | undefined;
  /**
   * Stores the way to sign in.
   * @returns undefined for a wrong code of a recovery
   * @throws SignInRefusal, HoltError
   */
  give(target: SetUpTarget, credential: NewCredential, proof: SetUpProof): Promise<Given | undefined>;
}

const NO_PASSKEY = "The browser did not make a passkey for this server. Try again, or choose a password.";
const CHANGED = "Your account has changed in the meantime. Open its page again.";
const LOST_LINK = "This link was used already. Ask for a new one.";

function ownChange(credential: NewCredential): Pick<AccountEvent, "name" | "notice"> {
  if (credential.kind === "passkey") return { name: "passkey_added", notice: NOTICES.passkeyAdded };
  const notice = credential.password.totp === undefined ? NOTICES.passwordChanged : NOTICES.passwordAdded;
  return { name: "password_changed", notice };
}

export function createSetUp(parts: AccountParts): SetUp {
  const { store, clock, secrets, names, steps, localAccounts, registrations, baseUrl } = parts;
  const { webauthn, passwords } = localAccounts;

  async function accountOf(target: SetUpTarget): Promise<LocalAccount | undefined> {
    if (target.kind === "new") return undefined;
    return findAccount(store.reader, target.kind === "own" ? target.account.identityUid : target.recovery.identityUid);
  }

  async function readPasskey(challenge: string, credential: string): Promise<NewCredential | undefined> {
    const passkey = await webauthn.verifyCreation(credential, challenge, passkeyName("", clock.now()));
    return passkey && { kind: "passkey", passkey };
  }

  /** Recovery and the account's own page keep an authenticator app that the account has. */
  function needsApp(target: SetUpTarget, account: LocalAccount | undefined): boolean {
    return (account?.totp_secret ?? null) === null || (target.kind === "recover" && target.recovery.resetsSecondFactor);
  }

  async function createAccount(target: Extract<SetUpTarget, { kind: "new" }>, credential: NewCredential): Promise<Given> {
    const now = clock.now();
    const { draft, invite: code } = target;
    const account = personFromDraft(draft, baseUrl, credential.kind);
    const { identityUid } = account;
    const codes = await store.transaction(async (db) => {
      const { groupUid } = await registrations.recordRegister(db, { identityUid, account, code, now });
      await appendRegistrationEvent(db, { account, groupUid, now }, names);
      const inserted = await localAccounts.insert(db, identityUid, draft, credential);
      const { email, name } = draft;
      if (credential.kind === "password") await mailOthersWithAddress(db, { identityUid, email, now }, parts);
      if (email !== "") await mailConfirmation(db, { identityUid, email, name, organization: rootOf(groupUid), now }, parts);
      return inserted;
    });
    return { identityUid, codes };
  }

  async function giveOwn(db: WriteDb, { identityUid, version }: OpenAccount, credential: NewCredential): Promise<Given> {
    const now = clock.now();
    const account = await lockAccount(db, identityUid);
    if (account.update_time !== version || account.disabled_time !== null) throw new SignInRefusal(409, CHANGED);
    await setCredential(db, { identityUid, credential, now }, secrets);
    if (credential.kind === "password" && account.email_key === null)
      await mailOthersWithAddress(db, { identityUid, email: credential.password.email, now }, parts);
    await appendAccountEvent(db, { ...ownChange(credential), identityUid, now }, parts);
    return { identityUid, codes: undefined };
  }

  return {
    async ask(target, { request, query }, browser, problem) {
      const challenge = randomSecret();
      const account = await accountOf(target);
      const handle = await steps.store({ kind: "set-up", target, request, query, challenge }, browser);
      const email = target.kind === "new" ? target.draft.email : (account?.email ?? "");
      const userHandle = target.kind === "new" ? target.draft.userHandle : (account?.user_handle ?? "");
      const owner = { userHandle, label: email || account?.name || "Holt" };
      const existing = account === undefined ? [] : await passkeysOf(store.reader, account.identity_uid);
      // A recovery replaces the passkeys, so an authenticator that has one may make another.
      const passkeyOptions = webauthn.creationOptions(owner, challenge, target.kind === "recover" ? [] : existing);
      const needsCode = target.kind === "recover" && account !== undefined && localAccounts.needsCode(target.recovery, account);
      return {
        kind: "set-up",
        handle,
        target,
        passkeyOptions: webauthn.isPossible ? passkeyOptions : undefined,
        email,
        needsCode,
        problem,
      };
    },

    async read({ target: asked, challenge }, fields, remoteAddress) {
      const isPasskey = fields.credential !== "";
      const account = await accountOf(asked);
      const known = asked.kind === "new" ? asked.draft.email : (account?.email ?? "");
      const person = { name: fields.name || (account?.name ?? ""), email: known || fields.email };
      const fault = personFault(person, !isPasskey);
      if (fault !== undefined) return { kind: "problem", problem: fault };
      const { email, name } = { ...person, name: person.name || person.email };
      const target = asked.kind === "new" ? { ...asked, draft: { ...asked.draft, email, name } } : asked;
      if (isPasskey) {
        const credential = await readPasskey(challenge, fields.credential);
        return credential === undefined ? { kind: "problem", problem: NO_PASSKEY } : { kind: "credential", target, credential };
      }
      const organizations = target.kind === "new" ? [target.groupName] : [];
      const weakness = await passwordFault(fields.password, { email, name, organizations });
      if (weakness !== undefined) return { kind: "problem", problem: weakness };
      const password = { email, name, hash: await passwords.hash(fields.password, networkOf(remoteAddress)), code: fields.code };
      if (needsApp(target, account)) return { kind: "app", target, password, secret: newTotpSecret() };
      return { kind: "credential", target, credential: { kind: "password", password: { ...password, totp: undefined } } };
    },

    async askForApp({ target, request, query, password, secret }, browser, problem) {
      const handle = await steps.store({ kind: "app", target, request, query, password, secret }, browser);
      return { kind: "app", handle, uri: totpUri(secret, password.email, new URL(baseUrl).host), secret, problem };
    },

    proveApp({ password: { email, hash }, secret }, code) {
      const step = findTotpStep(secret, code, clock.now());
      return step === undefined ? undefined : { kind: "password", password: { email, hash, totp: { secret, step } } };
    },

    async give(target, credential, { code, remoteAddress }) {
      if (target.kind === "new") return createAccount(target, credential);
      if (target.kind === "own") return store.transaction((db) => giveOwn(db, target.account, credential));
      const { recovery } = target;
      const codes = await localAccounts.recover({ recovery, credential, code, remoteAddress });
      if (codes !== undefined) return { identityUid: recovery.identityUid, codes };
      if (recovery.by === "link" && !(await isUsable(recovery.tokenHash))) throw new SignInRefusal(404, LOST_LINK);
      return undefined;
    },
  };

  async function isUsable(tokenHash: string): Promise<boolean> {
    const query = store.reader.selectFrom("recovery_link").select("token_hash").where("token_hash", "=", tokenHash);
    return (await query.executeTakeFirst()) !== undefined;
  }
}
