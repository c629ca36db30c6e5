/** Declares what a step of a sign-in leads to: a page, a redirect, or a refusal. */
import type { AccountForm } from "./accounts/account-form.ts";
import type { FinishedSignIn } from "./finish.ts";
import type { MembershipOffer } from "./membership-offers.ts";
import type { ProviderChoice } from "./providers.ts";
import type { SignInRefusal } from "./refusal.ts";
import type { SignInRequest } from "./request.ts";

export type SignInResult =
  /** Lets the person choose how to sign in. */
  | {
      readonly kind: "choose";
      readonly offer: ProviderChoice;
      readonly request: SignInRequest;
      readonly problem: string | undefined;
      readonly accounts?: AccountForm | undefined;
      /** The query that the sign-in began with. */
      readonly query: string;
    }
  /** Redirects the browser to the provider. */
  | { readonly kind: "leave"; readonly url: string }
  /** `returnUrl` is the program's address that the answer will lead to. */
  | { readonly kind: "ask"; readonly handle: string; readonly question: Question; readonly returnUrl: string | undefined }
  | (FinishedSignIn & { readonly offers?: OfferedMemberships | undefined })
  /** The person has joined an organization after the sign-in. */
  | { readonly kind: "joined"; readonly name: string; readonly offers: OfferedMemberships | undefined }
  /** Asks whether to link the open account with the person who has signed in at a provider. */
  | { readonly kind: "ask-link"; readonly handle: string; readonly person: string }
  | { readonly kind: "declined" }
  | { readonly kind: "refused"; readonly refusal: SignInRefusal };

/** The question on a confirmation page. */
export interface Question {
  /** The account that signed in: its email, or its name at the issuer. */
  readonly account: string;
  readonly invite: { readonly groupName: string; readonly roleName: string } | undefined;
  /**
   * The program or device that is signed in: a program by its key, a device by its displayed code and its claimed name.
   */
  readonly recipient: { readonly code: string; readonly name: string | undefined } | undefined;
  /** Host and port of the program on the same machine that is signed in. */
  readonly program: string | undefined;
}

/** Organizations that the person can join on the page, and the one-time handle of the answer. */
export interface OfferedMemberships {
  readonly handle: string;
  readonly organizations: readonly MembershipOffer[];
}
