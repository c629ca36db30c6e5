/** The steps on the pages of local accounts, as they are stored between two requests. */
import type { AccountDraft, CredentialKind } from "../../iam/accounts/account-record.ts";
import type { Recovery } from "../../iam/accounts/recovery.ts";
import type { OrganizationPage } from "../../iam/policy/organization-page.ts";
import type { PendingAccount } from "../pending-account.ts";
import type { PendingSteps } from "../pending-steps.ts";
import type { SignInRequest } from "../request.ts";

/** Step after the account's pages: a sign-in, or the account page. */
export interface Continuation {
  /** Undefined for the page of the account. */
  readonly request: SignInRequest | undefined;
  /** The query that the sign-in began with. */
  readonly query: string;
}

/** The account that gets a new way to sign in. */
export type SetUpTarget =
  | {
      readonly kind: "new";
      readonly draft: AccountDraft;
      readonly invite: string;
      /** Names for the page. */
      readonly groupName: string;
      readonly roleName: string;
      /** The organization of the invite, as its pages show it. */
      readonly organization: Pick<OrganizationPage, "name" | "logoPath"> | undefined;
    }
  | { readonly kind: "recover"; readonly recovery: Recovery }
  | { readonly kind: "own"; readonly account: OpenAccount };

/** An account whose page is open. */
export interface OpenAccount {
  readonly identityUid: string;
  /** Update time of the account. A change elsewhere, such as a recovery, closes the page. */
  readonly version: string;
}

/** A password that has been chosen, until the code of the authenticator app proves the app. */
export interface ChosenPassword {
  readonly email: string;
  readonly name: string;
  readonly hash: string;
  /** Second factor of a recovery. */
  readonly code: string;
}

/** A person who has signed in with an account. */
export interface ProvenPerson {
  readonly identityUid: string;
  /** `update_time` of the account. A later change, such as a recovery, voids the proof. */
  readonly version: string;
  /** Undefined on the way back to the account page, where no session begins. */
  readonly credential?: CredentialKind;
}

export type AccountStep =
  | (Continuation & { readonly kind: "sign-in"; readonly challenge: string })
  | (Continuation & { readonly kind: "set-up"; readonly target: SetUpTarget; readonly challenge: string })
  | (Continuation & { readonly kind: "app"; readonly target: SetUpTarget; readonly password: ChosenPassword; readonly secret: string })
  | (Continuation & ProvenPerson & { readonly kind: "continue" })
  | (Continuation & { readonly kind: "manage"; readonly account: OpenAccount; readonly challenge: string })
  /** The person has signed in at an organization's provider, to link the open account with it. */
  | (Continuation & { readonly kind: "link"; readonly account: OpenAccount; readonly person: PendingAccount });

export interface AccountSteps {
  /** @returns the one-time handle of the step */
  store(step: AccountStep, browser: string): Promise<string>;
  /** @returns undefined unless this browser has such a step */
  take<K extends AccountStep["kind"]>(
    kind: K,
    handle: string,
    browser: string | undefined,
  ): Promise<Extract<AccountStep, { kind: K }> | undefined>;
}

export function createAccountSteps(pending: PendingSteps): AccountSteps {
  return {
    store: (content, browser) => pending.store({ browser, stage: "account", content }),
    async take<K extends AccountStep["kind"]>(kind: K, handle: string, browser: string | undefined) {
      const step = await pending.take<AccountStep>("account", handle, browser);
      return step?.kind === kind ? (step as Extract<AccountStep, { kind: K }>) : undefined;
    },
  };
}
