/** The pages of local accounts: signing in, setting up a way to sign in, and the account itself. Only passkeys need the script. */
import { encodeQR } from "qr";
import { isRefused } from "../../iam/accounts/passkeys.ts";
import type { AccountForm } from "../accounts/account-form.ts";
import type { AccountPage } from "../accounts/account-page.ts";
import type { AccountResult } from "../accounts/account-result.ts";
import type { SetUpTarget } from "../accounts/account-step.ts";
import type { AppPage, SetUpPage } from "../accounts/set-up-page.ts";
import { type Html, html } from "./html.ts";
import { alert, ONWARD, type Page, type PageParts, page } from "./page.ts";

type ResultOf<K extends AccountResult["kind"]> = Extract<AccountResult, { kind: K }>;

/** Elements of the head of a page that has a button for passkeys. */
export const PASSKEY_HEAD = html`
<script src="/oauth/passkey.js" defer></script>`;

function scriptedPage(status: number, title: string, content: Html, organization?: PageParts["organization"]): Page {
  return { ...page(status, title, content, { head: PASSKEY_HEAD, organization }), hasScript: true };
}

function handleField(handle: string): Html {
  return html`<input type="hidden" name="handle" value="${handle}">`;
}

interface PasskeyButton {
  readonly ceremony: "create" | "use";
  readonly options: object | undefined;
  readonly label: string;
}

/** Hidden until the script finds that the browser has passkeys. */
function passkeyButton({ ceremony, options, label }: PasskeyButton): Html | undefined {
  return (
    options &&
    html`<input type="hidden" name="credential" value="">
<button type="button" hidden data-passkey="${ceremony}" data-options="${JSON.stringify(options)}">${label}</button>
<p class="problem" role="alert" hidden data-passkey-problem></p>`
  );
}

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

export function accountSignInPage({ accounts }: ResultOf<"account-sign-in">): Page {
  return scriptedPage(accounts.problem === undefined ? 200 : 401, "Your account", accountForms(accounts));
}

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
  return scriptedPage(
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

export function codesPage({ handle, codes }: ResultOf<"codes">): Page {
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

/** A form of the account's page with one button. */
function action(handle: string, name: string, content: Html): Html {
  return html`<form method="post" action="/oauth/account/change">
${handleField(handle)}<input type="hidden" name="action" value="${name}">
${content}
</form>`;
}

export function accountPage(shown: AccountPage): Page {
  const { handle, account, notice, problem, codesLeft, canConfirm } = shown;
  const done = notice === undefined ? undefined : html`<p role="status">${notice}</p>`;
  return scriptedPage(
    problem === undefined ? 200 : 400,
    "Your account",
    html`${alert(problem)}${done}<dl>
<dt>Name</dt><dd>${account.name}</dd>
${account.email === "" ? undefined : html`<dt>Email address</dt><dd>${account.email}</dd>`}
</dl>
${canConfirm ? action(handle, "confirm-address", html`<p>The address is not confirmed.</p><button class="other">Send the mail that confirms it</button>`) : undefined}
${passkeySection(shown)}
${passwordSection(shown)}
<h2>Recovery codes</h2>
<p>${codesLeft} left.</p>
${action(handle, "recovery-codes", html`<button class="other">Make new codes</button>`)}
${linkSection(shown)}
<h2>Sessions</h2>
${action(handle, "end-sessions", html`<button class="other">Sign out everywhere</button>`)}
${ONWARD}`,
  );
}

function passkeySection({ handle, passkeys, passkeyOptions: options }: AccountPage): Html {
  const items = passkeys.map((passkey) => {
    const { uid, name, last_use_time: used } = passkey;
    const key = html`<input type="hidden" name="passkey" value="${uid}">`;
    const refused = isRefused(passkey) ? ", refused because somebody may have copied it: remove it" : "";
    return html`<li>${name}${refused}, ${used === null ? "not used yet" : `last used ${used.slice(0, 10)}`}
${action(
  handle,
  "rename-passkey",
  html`${key}<label for="name-${uid}">Name</label><input id="name-${uid}" name="name" required maxlength="100" value="${name}"><button class="other">Rename</button>`,
)}
${action(handle, "remove-passkey", html`${key}<button class="other" aria-label="Remove ${name}">Remove</button>`)}</li>`;
  });
  return html`<h2>Passkeys</h2>
<ul>${items}</ul>
${action(
  handle,
  "add-passkey",
  html`<label for="name">Name of a new passkey</label>
<input id="name" name="name" maxlength="100">
${passkeyButton({ ceremony: "create", options, label: "Add a passkey" })}`,
)}`;
}

function linkSection({ handle, links, linkable }: AccountPage): Html | undefined {
  if (links.length + linkable.length === 0) return undefined;
  const items = links.map(
    ({ uid, name, organizationName }) => html`<li>${organizationName}: ${name}
${action(handle, "remove-link", html`<input type="hidden" name="link" value="${uid}"><button class="other" aria-label="Remove the link with ${organizationName}">Remove</button>`)}</li>`,
  );
  const offers = linkable.map(({ uid, name, organizationName }) =>
    action(
      handle,
      "link",
      html`<input type="hidden" name="provider" value="${uid}"><button class="other">Link with ${name} of ${organizationName}</button>`,
    ),
  );
  return html`<h2>Sign-in of your organization</h2>
${items.length === 0 ? undefined : html`<ul>${items}</ul>`}
${offers}`;
}

function passwordSection({ handle, account, passkeys }: AccountPage): Html {
  const hasPassword = account.password_hash !== null;
  const address =
    account.email === ""
      ? html`<label for="email">Email address</label>
<input id="email" name="email" type="email" required maxlength="254" autocomplete="username">`
      : undefined;
  return html`<h2>Password and authenticator app</h2>
${action(
  handle,
  "password",
  html`${address}<label for="password">${hasPassword ? "New password" : "Password"}</label>
<p class="hint" id="password-hint">At least 12 characters</p>
<input id="password" name="password" type="password" required maxlength="1024" autocomplete="new-password" aria-describedby="password-hint">
<button class="other">${hasPassword ? "Change the password" : "Add a password"}</button>`,
)}
${hasPassword && passkeys.length > 0 ? action(handle, "remove-password", html`<button class="other">Remove the password</button>`) : undefined}`;
}
