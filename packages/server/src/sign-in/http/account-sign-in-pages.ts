/** Pages on which a person signs in with an account of this server, or recovers it. */
import type { AccountForm } from "../accounts/account-form.ts";
import { type Html, html } from "./html.ts";
import { alert, handleField, type Page, page } from "./page.ts";
import { passkeyButton, passkeyPage } from "./passkey-page.ts";

/** The forms by which a person signs in with an account of this server. */
export function accountForms({ handle, passkeyOptions, creationQuery, problem }: AccountForm): Html {
  const creation =
    creationQuery !== undefined &&
    html`<h2>${handle === undefined ? "Without a provider" : "If you have no account"}</h2>
<form method="get" action="/oauth/account/new">
${[...new URLSearchParams(creationQuery)].map(([name, value]) => html`<input type="hidden" name="${name}" value="${value}">`)}
<button class="other">Create an account</button>
</form>`;
  const signIn = handle !== undefined && signInForms({ handle, passkeyOptions });
  return html`${alert(problem)}${signIn || undefined}${creation || undefined}`;
}

function signInForms({ handle, passkeyOptions: options }: { readonly handle: string; readonly passkeyOptions: object | undefined }): Html {
  return html`<h2>With an account of this server</h2>
<form method="post" action="/oauth/account/sign-in">
${handleField(handle)}
${passkeyButton({ ceremony: "use", options, label: "Sign in with a passkey" })}
</form>
<form method="post" action="/oauth/account/sign-in">
${handleField(handle)}
<label for="email">Email address</label>
<input id="email" name="email" type="email" required maxlength="254" autocomplete="username">
<label for="password">Password</label>
<input id="password" name="password" type="password" required maxlength="1024" autocomplete="current-password">
<label for="code">Code of your authenticator app, or a recovery code</label>
<input id="code" name="code" required maxlength="40" autocomplete="one-time-code" autocapitalize="none" spellcheck="false">
<button class="other">Sign in with the password</button>
</form>
<p><a href="/oauth/account/recover">I cannot sign in any more</a></p>`;
}

export function accountSignInPage({ accounts }: { readonly accounts: AccountForm }): Page {
  return passkeyPage(accounts.problem === undefined ? 200 : 401, "Your account", accountForms(accounts));
}

export function recoverPage(problem: string | undefined): Page {
  return page(
    problem === undefined ? 200 : 400,
    "Get back into your account",
    html`${alert(problem)}<form method="post" action="/oauth/account/recovery-code">
<label for="recovery_code">One of your recovery codes</label>
<input class="code" id="recovery_code" name="recovery_code" required maxlength="40" autocomplete="off" autocapitalize="none" spellcheck="false">
<button>Continue</button>
</form>
<h2>If you have a password</h2>
<p>Sign in with it, and use a recovery code as the code.</p>
<h2>If you have no recovery code</h2>
<p>Ask an administrator of your organization for a recovery link.</p>`,
  );
}
