/** Offers local accounts on the page where a person chooses how to sign in. */
import type { Store } from "../../db/store.ts";
import { hasAccounts } from "../../iam/accounts/account-record.ts";
import type { LocalAccounts } from "../../iam/accounts/local-accounts.ts";
import type { BeginningBrowser } from "../browser.ts";
import { randomSecret } from "../pending.ts";
import type { StartLimit } from "../start-limit.ts";
import type { AccountSteps, Continuation } from "./account-step.ts";

/** The forms by which a person signs in with an account of this server. */
export interface AccountForm {
  /** One-time handle; undefined if nobody has an account yet. */
  readonly handle: string | undefined;
  /** Options for a passkey; undefined if browsers offer none here. */
  readonly passkeyOptions: object | undefined;
  /** Query of the page that creates an account; undefined without an invite. */
  readonly creationQuery: string | undefined;
  /** Why the last attempt failed. */
  readonly problem: string | undefined;
}

/** @returns undefined if there is nothing to offer: no account exists, and the person has no invite */
export type OfferAccounts = (then: Continuation, by: BeginningBrowser, problem?: string) => Promise<AccountForm | undefined>;

export interface AccountFormOptions {
  readonly store: Store;
  readonly localAccounts: LocalAccounts;
  readonly steps: AccountSteps;
  readonly limit: StartLimit;
}

export function createAccountOffer({ store, localAccounts: { webauthn }, steps, limit }: AccountFormOptions): OfferAccounts {
  return async (then, { browser, remoteAddress }, problem) => {
    const mayCreate = then.request !== undefined && then.request.invite !== "";
    const creationQuery = mayCreate ? then.query : undefined;
    if (!(await hasAccounts(store.reader)))
      return mayCreate ? { handle: undefined, passkeyOptions: undefined, creationQuery, problem } : undefined;
    limit.take(remoteAddress);
    const challenge = randomSecret();
    const handle = await steps.store({ kind: "sign-in", ...then, challenge }, browser);
    return { handle, passkeyOptions: webauthn.isPossible ? webauthn.requestOptions(challenge) : undefined, creationQuery, problem };
  };
}
