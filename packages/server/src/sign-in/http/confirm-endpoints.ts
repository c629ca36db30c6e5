/** The pages that confirm an email address. Opening the link changes nothing: programs that scan mails open links, too. */
import { confirmEmail, findUnconfirmed } from "../../iam/accounts/email-confirmation.ts";
import type { AccountParts } from "../accounts/account-parts.ts";
import { SignInRefusal } from "../refusal.ts";
import { html } from "./html.ts";
import { type Page, page } from "./page.ts";
import { sendPage } from "./send-page.ts";
import type { Endpoint } from "./sign-in-exchange.ts";

export type ConfirmParts = Pick<AccountParts, "store" | "clock" | "secrets" | "mailer" | "names" | "baseUrl">;

const WRONG_LINK = "This link was used already, has expired, or is not complete. Your address may be confirmed already.";

/** @returns the endpoints by path */
export function createConfirmEndpoints(parts: ConfirmParts): readonly (readonly [string, Endpoint])[] {
  const { store, clock, secrets } = parts;
  const open: Endpoint = {
    method: "GET",
    async serve({ response, query }) {
      const token = new URLSearchParams(query).get("token") ?? "";
      const account = await findUnconfirmed(store.reader, token, clock.now(), secrets);
      if (account === undefined) throw new SignInRefusal(404, WRONG_LINK);
      sendPage(response, questionPage(token, account));
    },
  };
  const confirm: Endpoint = {
    method: "POST",
    async serve({ response, state: { form } }) {
      const account = await store.transaction((db) => confirmEmail(db, form.get("token") ?? "", clock.now(), parts));
      if (account === undefined) throw new SignInRefusal(404, WRONG_LINK);
      sendPage(response, donePage(account.email));
    },
  };
  return [
    ["/oauth/account/confirm", open],
    ["/oauth/account/confirmed", confirm],
  ];
}

function questionPage(token: string, { email, name }: { readonly email: string; readonly name: string }): Page {
  return page(
    200,
    "Confirm your email address?",
    html`<dl>
<dt>Address</dt><dd>${email}</dd>
<dt>Account</dt><dd>${name === "" ? email : name}</dd>
</dl>
<p>Confirm only if you created this account yourself. The account then counts as the owner of this address.</p>
<form method="post" action="/oauth/account/confirmed">
<input type="hidden" name="token" value="${token}">
<button>Confirm</button>
</form>`,
  );
}

function donePage(email: string): Page {
  return page(200, "Address confirmed", html`<p>${email} is confirmed. It counts with your next sign-in. <a href="/oauth">Sign in</a></p>`);
}
