/** Pages on which a person sets up a way to sign in: a passkey, or a password with an authenticator app and recovery codes. */
import { encodeQR } from "qr";
import type { CodesPage } from "../accounts/account-page.ts";
import type { SetUpTarget } from "../accounts/account-step.ts";
import type { AppPage, SetUpPage } from "../accounts/set-up-page.ts";
import { type Html, html } from "./html.ts";
import { alert, handleField, type Page, page } from "./page.ts";
import { passkeyButton, passkeyPage } from "./passkey-page.ts";

function targetOf(target: SetUpTarget): { readonly title: string; readonly about: Html } {
  if (target.kind === "new")
    return {
      title: "Create your account",
      about: html`<dl>
<dt>You join</dt><dd>${target.groupName}</dd>
<dt>With the role</dt><dd>${target.roleName}</dd>
</dl>`,
    };
  return {
    title: "Set up your sign-in again",
    about: html`<p>This replaces all passkeys and the password of the account, and signs you out everywhere.</p>`,
  };
}

export function setUpPage({ handle, target, passkeyOptions: options, email, needsCode, problem }: SetUpPage): Page {
  const { title, about } = targetOf(target);
  const name =
    target.kind === "new" &&
    html`<label for="name">Your name</label>
<input id="name" name="name" maxlength="100" autocomplete="name">
`;
  const address =
    email === ""
      ? html`<label for="email">Email address</label>
<p class="hint" id="email-hint">You need one if you choose a password</p>
<input id="email" name="email" type="email" maxlength="254" autocomplete="username" aria-describedby="email-hint">
`
      : html`<dl><dt>Email address</dt><dd>${email}</dd></dl>
<input type="hidden" name="email" value="${email}">
`;
  const code =
    needsCode &&
    html`<label for="code">Code of your authenticator app, or a recovery code</label>
<input id="code" name="code" maxlength="40" autocomplete="one-time-code" autocapitalize="none" spellcheck="false">
`;
  return passkeyPage(
    problem === undefined ? 200 : 400,
    title,
    html`${alert(problem)}${about}
<form method="post" action="/oauth/account/set-up">
${handleField(handle)}
${name || undefined}${address}${code || undefined}
${passkeyButton({ ceremony: "create", options, label: "Create a passkey" })}
${passwordField()}
<button class="other">Use a password</button>
</form>`,
    target.kind === "new" ? target.organization : undefined,
  );
}

function passwordField(): Html {
  return html`<h2>With a password and an authenticator app</h2>
<label for="password">Password</label>
<p class="hint" id="password-hint">At least 12 characters. A few unrelated words are easy to remember.</p>
<input id="password" name="password" type="password" maxlength="1024" autocomplete="new-password" aria-describedby="password-hint">`;
}

export function appPage({ handle, uri, secret, problem }: AppPage): Page {
  return page(
    problem === undefined ? 200 : 400,
    "Set up your authenticator app",
    html`${alert(problem)}<p>Scan this with an authenticator app, or enter the key in it. You need a code of it each time you sign in.</p>
${qrCode(uri)}
<dl><dt>Key</dt><dd class="code">${secret.replace(/(.{4})(?=.)/g, "$1 ")}</dd></dl>
<form method="post" action="/oauth/account/app">
${handleField(handle)}
<label for="code">The code that the app shows</label>
<input class="code" id="code" name="code" required maxlength="10" inputmode="numeric" autocomplete="one-time-code">
<button>Continue</button>
</form>`,
  );
}

const QR_BORDER = 4;

/** One path of squares. */
function qrCode(text: string): Html {
  const rows = encodeQR(text, "raw", { border: QR_BORDER });
  const path = rows.flatMap((row, y) => row.flatMap((isDark, x) => (isDark ? [`M${x} ${y}h1v1h-1z`] : []))).join("");
  return html`<svg class="qr" role="img" aria-label="QR code with the key" viewBox="0 0 ${rows.length} ${rows.length}"><rect width="100%" height="100%" fill="#fff"/><path d="${path}" fill="#000"/></svg>`;
}

export function codesPage({ handle, codes }: CodesPage): Page {
  return page(
    200,
    "Your recovery codes",
    html`<p>Print these codes, or keep them in a safe place. With one of them you get in if you lose your device. Each works once, and they are shown only now.</p>
<ul class="codes">${codes.map((code) => html`<li><code>${code}</code></li>`)}</ul>
<form method="post" action="/oauth/account/continue">
${handleField(handle)}
<button>I have kept them</button>
</form>`,
  );
}
