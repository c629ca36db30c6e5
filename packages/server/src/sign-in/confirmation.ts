/** Completes a sign-in whose account is known, and asks the person for confirmation first where it takes one. */
import type { PersonAccount } from "../iam/identities/person-account.ts";
import { describeInvite } from "../iam/joining/invites.ts";
import { redeemerFromAccount } from "../iam/joining/register.ts";
import type { AnsweringBrowser, ReturningBrowser } from "./browser.ts";
import { decideDevice, formatUserCode } from "./device.ts";
import { finish } from "./finish.ts";
import { offerMemberships } from "./join-step.ts";
import { programKey } from "./known-programs.ts";
import { type PendingAccount, pendingAccount, restoreAccount } from "./pending-account.ts";
import { SignInRefusal } from "./refusal.ts";
import type { Goal, SignInRequest } from "./request.ts";
import type { SignInParts } from "./sign-in-parts.ts";
import type { Question, SignInResult } from "./sign-in-result.ts";

/** The stored step of a person who sees a confirmation page. */
export interface PendingQuestion extends PendingAccount {
  readonly request: SignInRequest;
}

const DECLINED_INVITE = "You chose not to join, so you are not signed in. Start again without the invite.";
const DECLINED_PROGRAM = "You chose not to sign this program in.";

/** @throws SignInRefusal, HoltError */
export function confirmOrComplete(
  request: SignInRequest,
  account: PersonAccount,
  by: ReturningBrowser,
  parts: SignInParts,
): Promise<SignInResult> {
  if (needsConfirmation(request, account, by.programs)) return ask(request, account, by, parts);
  return complete(request, account, by, parts);
}

/** @throws SignInRefusal, HoltError */
export async function takeConfirmation(step: PendingQuestion, by: AnsweringBrowser, parts: SignInParts): Promise<SignInResult> {
  const { request, account } = step;
  const completed = await complete(request, await restoreAccount(parts.store.reader, step), by, parts);
  if (completed.kind !== "return" || request.goal.kind !== "program") return completed;
  return { ...completed, program: programKey(request.goal, account.identityUid) };
}

/** @throws SignInRefusal for a program, which waits for an answer */
export async function decline({ request: { goal, invite } }: PendingQuestion, { store, clock }: SignInParts): Promise<SignInResult> {
  if (goal.kind === "program") throw new SignInRefusal(403, invite === "" ? DECLINED_PROGRAM : DECLINED_INVITE);
  if (goal.kind === "device") await store.transaction((db) => decideDevice(db, goal.deviceHash, undefined, clock.now()));
  return { kind: "declined" };
}

/** An invite, a recipient elsewhere, and a program that the person has not confirmed in this browser need an answer. */
function needsConfirmation({ invite, goal }: SignInRequest, { identityUid }: PersonAccount, programs: readonly string[]): boolean {
  if (goal.kind === "program" && !programs.includes(programKey(goal, identityUid))) return true;
  return invite !== "" || describeRecipient(goal) !== undefined;
}

async function complete(
  request: SignInRequest,
  account: PersonAccount,
  { browser = "", client }: AnsweringBrowser,
  parts: SignInParts,
): Promise<SignInResult> {
  const finished = await finish(request, account, client, parts);
  const provider = account.member?.provider.uid;
  parts.log.info({ identity: account.identityUid, provider, goal: request.goal.kind }, "a person signed in");
  // A program shows no page.
  return finished.kind === "return" ? finished : { ...finished, offers: await offerMemberships(account, browser, parts) };
}

async function ask(
  request: SignInRequest,
  account: PersonAccount,
  { browser = "" }: AnsweringBrowser,
  parts: SignInParts,
): Promise<SignInResult> {
  const { goal } = request;
  const question = await describe(request, account, parts);
  const content: PendingQuestion = { request, ...pendingAccount(account) };
  const handle = await parts.pending.store({ browser, stage: "confirm", content });
  return { kind: "ask", handle, question, returnUrl: goal.kind === "program" ? goal.returnUrl : undefined };
}

async function describe({ invite, goal }: SignInRequest, account: PersonAccount, { store, clock }: SignInParts): Promise<Question> {
  return {
    account: account.email ?? account.profile.actor.email ?? account.profile.upstream.name ?? account.subject,
    invite: invite === "" ? undefined : await describeInvite(store.reader, invite, redeemerFromAccount(account), clock.now()),
    recipient: describeRecipient(goal),
    program: goal.kind === "program" ? new URL(goal.returnUrl).host : undefined,
  };
}

function describeRecipient(goal: Goal): Question["recipient"] {
  if (goal.kind === "headless") return { code: goal.code, name: undefined };
  return goal.kind === "device" ? { code: formatUserCode(goal.userCode), name: goal.clientId } : undefined;
}
