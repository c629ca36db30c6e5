/** Pages that ask a question during a sign-in, or show how it ended. Each has one heading, labels for all fields, and a next step. */
import type { OfferedMemberships, Question } from "../sign-in-result.ts";
import { type Html, html } from "./html.ts";
import { alert, handleField, ONWARD, type Page, page } from "./page.ts";

/** Replaces a redirect after a form. Browsers apply `form-action` to redirects too, and the target may be on any site. */
export function leavingPage(url: string): Page {
  return page(200, "One moment", html`<p>If nothing happens, <a href="${url}">continue here</a>.</p>`, {
    head: html`
<meta http-equiv="refresh" content="0; url=${url}">`,
  });
}

const REMOTE_WARNING = html`<p>It can act as you from then on. Continue only if you started this yourself and it shows this very code. If somebody sent you here, do not.</p>`;
const LOCAL_WARNING = html`<p>It can act as you from then on. Continue only if you started a sign-in from a program yourself. If a link or another page sent you here, do not.</p>`;

function questionTitle(isInvite: boolean, isElsewhere: boolean): string {
  if (isInvite) return isElsewhere ? "Join and sign in elsewhere?" : "Join?";
  return isElsewhere ? "Sign in elsewhere?" : "Sign in a program?";
}

export function questionPage(handle: string, { account, invite, recipient, program }: Question): Page {
  const title = questionTitle(invite !== undefined, recipient !== undefined);
  const joining =
    invite &&
    html`<dt>You join</dt><dd>${invite.groupName}</dd>
<dt>With the role</dt><dd>${invite.roleName}</dd>
`;
  const local =
    program &&
    html`<dt>Who asks</dt><dd>A program on this machine, at ${program}</dd>
`;
  const remote =
    recipient &&
    html`<dt>Who asks</dt><dd>${recipient.name === undefined ? "A program on another machine" : `A program that calls itself ${recipient.name}`}</dd>
<dt>The code that it shows</dt><dd class="code">${recipient.code}</dd>
`;
  const yes = invite === undefined ? "Yes, sign it in" : recipient === undefined ? "Join" : "Join, and sign it in";
  return page(
    200,
    title,
    html`<dl>
<dt>You are signed in as</dt><dd>${account}</dd>
${joining}${local}${remote}</dl>
${recipient === undefined ? (program === undefined ? undefined : LOCAL_WARNING) : REMOTE_WARNING}
<form method="post" action="/oauth/answer">
${handleField(handle)}
<button name="answer" value="yes">${yes}</button>
<button name="answer" value="no" class="other">No</button>
</form>`,
  );
}

export function linkPage(handle: string, person: string): Page {
  return page(
    200,
    "Link your account?",
    html`<dl>
<dt>You are signed in at your organization as</dt><dd>${person}</dd>
</dl>
<p>Your account keeps its roles, and gets those that your organization has given to this sign-in. From then on, this sign-in opens your account, in this organization only.</p>
<form method="post" action="/oauth/account/connect">
${handleField(handle)}
<button name="answer" value="yes">Link them</button>
<button name="answer" value="no" class="other">No</button>
</form>`,
  );
}

export interface ShownToken {
  readonly token: string;
  readonly expiry: Date;
  /** Whether the person has redeemed an invite. */
  readonly joined: boolean;
  readonly offers?: OfferedMemberships | undefined;
}

export function tokenPage({ token, expiry, joined, offers }: ShownToken): Page {
  const time = expiry.toISOString();
  return page(
    200,
    "You are signed in",
    html`${joined ? html`<p>You have joined. What you may do there counts from now on.</p>` : undefined}
<p>No program waits for your access token, so here it is, good until <time datetime="${time}">${time.slice(0, 16).replace("T", " ")} UTC</time>. Whoever has it can act as you: do not send it to anybody.</p>
<label for="token">Access token</label>
<textarea id="token" readonly rows="6" spellcheck="false">${token}</textarea>
<p class="hint">In a shell: <code>export TOKEN=&hellip;</code>, then <code>curl -H "Authorization: Bearer $TOKEN" &hellip;</code>. Otherwise close this page, or open Holt.</p>
${ONWARD}
${offerForm(offers, " If you need the token, copy it first.")}`,
  );
}

export function elsewherePage(offers?: OfferedMemberships): Page {
  const content = html`<p>It is signed in where you started this. You can close this page and go back there.</p>
${offerForm(offers)}`;
  return page(200, "Done", content);
}

export function joinedPage(name: string, offers?: OfferedMemberships): Page {
  const content = html`<p>You have joined ${name}. It now sees your name and your email address.</p>
${offerForm(offers)}${ONWARD}`;
  return page(200, "Joined", content);
}

function offerForm(offers: OfferedMemberships | undefined, note = ""): Html | undefined {
  if (offers === undefined) return undefined;
  const buttons = offers.organizations.map(
    ({ uid, name, isVerified }) =>
      html`<button name="organization" value="${uid}" class="other">Join ${name}${isVerified ? " (verified)" : undefined}</button>
`,
  );
  return html`<h2>Organizations that have given you a role</h2>
<p>Anyone can found an organization and choose its name. Join only if you know who is behind it: it then sees your name and your email address.${note}</p>
<form method="post" action="/oauth/join">
${handleField(offers.handle)}
${buttons}</form>`;
}

export function declinedPage(): Page {
  return page(
    200,
    "Nothing was done",
    html`<p>Nobody was signed in and you joined nothing. You can close this page, or <a href="/oauth">start again</a>.</p>`,
  );
}

export function refusalPage(status: number, message: string): Page {
  return page(
    status,
    "You are not signed in",
    html`<p class="problem" role="alert">${message}</p>
<p><a href="/oauth">Start again</a></p>`,
  );
}

/** @param wrongCode the code that was entered and that no device waits with; undefined on the first visit */
export function devicePage(wrongCode: string | undefined): Page {
  const isWrong = wrongCode !== undefined;
  const problem = isWrong
    ? "Nothing waits with this code. Look at the device again: codes are good for ten minutes, and then it shows another one."
    : undefined;
  return page(
    isWrong ? 404 : 200,
    "Sign in a device",
    html`${alert(problem)}<form method="get" action="/oauth/device">
<input type="hidden" name="from" value="page">
<label for="user_code">The code that the device shows</label>
<p class="hint" id="user_code-hint">Eight letters, such as BCDF-GHJK</p>
<input class="code" id="user_code" name="user_code" value="${wrongCode ?? ""}" required maxlength="20" autocomplete="off" autocapitalize="characters" spellcheck="false" aria-describedby="user_code-hint${isWrong ? " problem" : ""}"${isWrong ? html` aria-invalid="true"` : undefined}>
<button>Continue</button>
</form>`,
  );
}
