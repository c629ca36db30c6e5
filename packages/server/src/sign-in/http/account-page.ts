/** The page of an account of this server: its passkeys, its password, its links and its sessions. */
import { isRefused } from "../../iam/accounts/passkeys.ts";
import type { AccountPage } from "../accounts/account-page.ts";
import { type Html, html } from "./html.ts";
import { alert, handleField, ONWARD, type Page } from "./page.ts";
import { passkeyButton, passkeyPage } from "./passkey-page.ts";

/** A form that changes the account. */
function action(handle: string, name: string, content: Html): Html {
  return html`<form method="post" action="/oauth/account/change">
${handleField(handle)}<input type="hidden" name="action" value="${name}">
${content}
</form>`;
}

export function accountPage(shown: AccountPage): Page {
  const { handle, account, notice, problem, codesLeft, canConfirm } = shown;
  const done = notice === undefined ? undefined : html`<p role="status">${notice}</p>`;
  return passkeyPage(
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
${hasPassword ? action(handle, "app", html`<button class="other">Set up a new authenticator app</button>`) : undefined}
${hasPassword && passkeys.length > 0 ? action(handle, "remove-password", html`<button class="other">Remove the password</button>`) : undefined}`;
}
