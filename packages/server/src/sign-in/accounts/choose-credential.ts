/** Reads the way to sign in that a person has chosen on the set-up page. */
import { networkOf } from "../../http/remote-network.ts";
import type { LocalAccount } from "../../iam/accounts/account-record.ts";
import type { NewCredential } from "../../iam/accounts/credentials.ts";
import { passwordFault } from "../../iam/accounts/password-rules.ts";
import { findTotpStep, newTotpSecret } from "../../iam/accounts/totp.ts";
import { Code, HoltError } from "../../lib/errors.ts";
import { passkeyName, personFault, type SetUpFields } from "./account-form-fields.ts";
import type { AccountParts } from "./account-parts.ts";
import type { AccountStep, ChosenPassword, SetUpTarget } from "./account-step.ts";
import { findTargetAccount, fixedEmail } from "./set-up-page.ts";

type Step<K extends AccountStep["kind"]> = Extract<AccountStep, { kind: K }>;

export type SetUpChoice =
  | { readonly kind: "problem"; readonly problem: string }
  /** `target` has the name and the address that the person wrote. */
  | { readonly kind: "credential"; readonly target: SetUpTarget; readonly credential: NewCredential }
  /** The person has to prove an authenticator app. */
  | { readonly kind: "app"; readonly target: SetUpTarget; readonly password: ChosenPassword; readonly secret: string };

interface PersonFields {
  readonly name: string;
  readonly email: string;
}

const NO_PASSKEY = "The browser did not make a passkey for this server. Try again, or choose a password.";

const BUSY = "Too many people are choosing or entering a password at this moment. Wait a moment, and send the form again.";

export async function readChoice(
  { target, challenge }: Pick<Step<"set-up">, "target" | "challenge">,
  fields: SetUpFields,
  remoteAddress: string | undefined,
  parts: AccountParts,
): Promise<SetUpChoice> {
  const account = await findTargetAccount(target, parts);
  const isPasskey = fields.credential !== "";
  const written = { name: fields.name || (account?.name ?? ""), email: fixedEmail(target, account) || fields.email };
  const fault = personFault(written, !isPasskey);
  if (fault !== undefined) return { kind: "problem", problem: fault };
  const person = { email: written.email, name: written.name || written.email };
  const named = target.kind === "new" ? { ...target, draft: { ...target.draft, ...person } } : target;
  if (isPasskey) return choosePasskey(named, challenge, fields.credential, parts);
  const weakness = await weaknessOf(fields.password, person, named);
  if (weakness !== undefined) return { kind: "problem", problem: weakness };
  const hash = await parts.localAccounts.passwords.hash(fields.password, networkOf(remoteAddress)).catch(ignoreBusy);
  if (hash === undefined) return { kind: "problem", problem: BUSY };
  return choosePassword(named, { ...person, hash, code: fields.code }, account);
}

/** The page has to stay open: the person may have spent a recovery code to get there. */
function ignoreBusy(error: unknown): undefined {
  if (!(error instanceof HoltError) || error.code !== Code.RESOURCE_EXHAUSTED) throw error;
}

/** @returns undefined for a wrong code */
export function proveApp(
  { password: { email, hash }, secret }: Step<"app">,
  code: string,
  { clock }: AccountParts,
): NewCredential | undefined {
  const step = findTotpStep(secret, code, clock.now());
  return step === undefined ? undefined : { kind: "password", password: { email, hash, totp: { secret, step } } };
}

async function choosePasskey(target: SetUpTarget, challenge: string, answer: string, parts: AccountParts): Promise<SetUpChoice> {
  const { clock, localAccounts } = parts;
  const passkey = await localAccounts.webauthn.verifyCreation(answer, challenge, passkeyName("", clock.now()));
  if (passkey === undefined) return { kind: "problem", problem: NO_PASSKEY };
  return { kind: "credential", target, credential: { kind: "passkey", passkey } };
}

function weaknessOf(password: string, person: PersonFields, target: SetUpTarget): Promise<string | undefined> {
  return passwordFault(password, { ...person, organizations: target.kind === "new" ? [target.groupName] : [] });
}

function choosePassword(target: SetUpTarget, password: ChosenPassword, account: LocalAccount | undefined): SetUpChoice {
  if (needsApp(target, account)) return { kind: "app", target, password, secret: newTotpSecret() };
  return { kind: "credential", target, credential: { kind: "password", password: { ...password, totp: undefined } } };
}

/** Recovery and the account's own page keep an authenticator app that the account has. */
function needsApp(target: SetUpTarget, account: LocalAccount | undefined): boolean {
  return (account?.totp_secret ?? null) === null || (target.kind === "recover" && target.recovery.resetsSecondFactor);
}
