/**
 * Runs browser sign-ins step by step, without HTTP: to the provider, back, an optional question, and to the recipient
 * of the login.
 */

import { resolveLinkedAccount } from "../iam/accounts/account-links.ts";
import { linkName } from "../iam/accounts/link-account.ts";
import type { PersonAccount } from "../iam/identities/person-account.ts";
import type { AccountForm } from "./accounts/account-form.ts";
import type { OpenAccount } from "./accounts/account-step.ts";
import { leaveForProvider, type PendingAtProvider, readAccountAtProvider } from "./at-provider.ts";
import { begin, chooseAgain } from "./begin.ts";
import type { AnsweringBrowser, BeginningBrowser, ReturningBrowser } from "./browser.ts";
import { catchRefusal } from "./catch-refusal.ts";
import { confirmOrComplete, decline, type PendingQuestion, takeConfirmation } from "./confirmation.ts";
import { findDevice, type WaitingDevice } from "./device.ts";
import { joinOffered } from "./join-step.ts";
import { pendingAccount } from "./pending-account.ts";
import { LOST_SIGN_IN, SignInRefusal } from "./refusal.ts";
import { parseSignInRequest, type SignInRequest } from "./request.ts";
import type { SignInParts } from "./sign-in-parts.ts";
import type { SignInResult } from "./sign-in-result.ts";

export interface SignIn {
  begin(query: URLSearchParams, by: BeginningBrowser): Promise<SignInResult>;
  /**
   * As `begin`, for the device that displays the code in the query.
   * @returns undefined if no device does
   */
  beginDevice(query: URLSearchParams, by: BeginningBrowser): Promise<SignInResult | undefined>;
  /** Continues when the browser returns from the provider. */
  returnFromProvider(query: URLSearchParams, by: ReturningBrowser): Promise<SignInResult>;
  /** Continues when the person has answered the question. */
  answer(handle: string, isYes: boolean, by: AnsweringBrowser): Promise<SignInResult>;
  /** Continues for a person who has signed in with an account of this server. @throws SignInRefusal, HoltError */
  continueAs(account: PersonAccount, request: SignInRequest, by: ReturningBrowser): Promise<SignInResult>;
  /** Lets the person choose again how to sign in. */
  chooseAgain(then: { readonly request: SignInRequest; readonly query: string }, accounts: AccountForm): Promise<SignInResult>;
  /** Sends a person to an organization's provider, to link the open account with the person there. @throws SignInRefusal */
  beginLink(link: OpenAccount, provider: string, by: BeginningBrowser): Promise<SignInResult>;
  /** Joins one of the organizations that the page has offered. */
  join(handle: string, organization: string, browser: string | undefined): Promise<SignInResult>;
}

const REMOVED_PROVIDER = "Your organization has removed this provider. Open your account again.";

export function createSignIn(parts: SignInParts): SignIn {
  const { store, clock, log, providers, pending } = parts;

  function beginWith(parse: () => SignInRequest, query: URLSearchParams, by: BeginningBrowser): Promise<SignInResult> {
    return catchRefusal<SignInResult>(log, async (knowGoal) => {
      const request = parse();
      knowGoal(request.goal);
      return begin(request, query, by, parts);
    });
  }

  return {
    begin: (query, by) => beginWith(() => parseSignInRequest(query), query, by),

    async beginDevice(query, by) {
      const device = await findDevice(store.reader, query.get("user_code") ?? "", clock.now());
      return device && beginWith(() => requestFromDevice(device), query, by);
    },

    returnFromProvider: (query, by) =>
      catchRefusal<SignInResult>(log, async (knowGoal) => {
        // Comes first, since a state can be used only once, whatever happens next.
        const step = await pending.take<PendingAtProvider>("upstream", query.get("state") ?? "", by.browser);
        knowGoal(step?.request.goal);
        if (step === undefined || by.browser === undefined) throw new SignInRefusal(400, LOST_SIGN_IN);
        const account = await readAccountAtProvider(step, query, parts);
        if (step.link !== undefined) return askToLink(step.link, account, by.browser, parts);
        return confirmOrComplete(step.request, await resolveLinkedAccount(store.reader, account), by, parts);
      }),

    answer: (handle, isYes, by) =>
      catchRefusal<SignInResult>(log, async (knowGoal) => {
        const step = await pending.take<PendingQuestion>("confirm", handle, by.browser);
        knowGoal(step?.request.goal);
        if (step === undefined) throw new SignInRefusal(400, LOST_SIGN_IN);
        return isYes ? takeConfirmation(step, by, parts) : decline(step, parts);
      }),

    continueAs: (account, request, by) => confirmOrComplete(request, account, by, parts),

    chooseAgain: (then, accounts) => chooseAgain(then, accounts, parts),

    async beginLink(link, provider, by) {
      const chosen = await providers.find(store.reader, provider);
      if (chosen?.record === undefined) throw new SignInRefusal(400, REMOVED_PROVIDER);
      return leaveForProvider(chosen, { request: parseSignInRequest(new URLSearchParams()), link }, by, parts);
    },

    join: (handle, organization, browser) => catchRefusal<SignInResult>(log, () => joinOffered(handle, organization, browser, parts)),
  };
}

async function askToLink(
  account: OpenAccount,
  person: PersonAccount,
  browser: string,
  { accountSteps }: SignInParts,
): Promise<SignInResult> {
  const step = { kind: "link", request: undefined, query: "", account, person: pendingAccount(person) } as const;
  return { kind: "ask-link", handle: await accountSteps.store(step, browser), person: linkName(person) };
}

function requestFromDevice({ device_hash: deviceHash, user_code: userCode, client_id: clientId }: WaitingDevice): SignInRequest {
  const goal = { kind: "device" as const, deviceHash, userCode, clientId };
  return { goal, audience: [], scopes: [], identity: "", invite: "", skipRegistration: false, wantsRefreshToken: false };
}
