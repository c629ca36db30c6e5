/** Declares what a step on the pages of local accounts leads to. */
import type { ReturningBrowser } from "../browser.ts";
import type { SignInResult } from "../sign-in-result.ts";
import type { AccountForm } from "./account-form.ts";
import type { AccountPage, CodesPage } from "./account-page.ts";
import type { AppPage, SetUpPage } from "./set-up-page.ts";

export type AccountResult =
  | SignInResult
  /** Signs in to open the page of the account. */
  | { readonly kind: "account-sign-in"; readonly accounts: AccountForm }
  | SetUpPage
  | AppPage
  | CodesPage
  | { readonly kind: "recover"; readonly problem: string | undefined }
  | AccountPage;

/** A browser on one of the account's pages. */
export interface AccountBrowser extends ReturningBrowser {
  readonly remoteAddress: string | undefined;
}
