/** The pages of sign-in, without external resources. Only passkeys need a script. Each has one heading, labels for all fields, and a next step. */

import type { OrganizationPage } from "../../iam/policy/organization-page.ts";
import type { AccountForm } from "../accounts/account-form.ts";
import type { ProviderChoice } from "../providers.ts";
import type { SignInRequest } from "../request.ts";
import type { OfferedMemberships, Question } from "../sign-in-result.ts";
import { accountForms, PASSKEY_HEAD } from "./account-pages.ts";
import { type Html, html } from "./html.ts";
import { alert, ONWARD, type Page, page } from "./page.ts";

export interface Choice {
  readonly offer: ProviderChoice;
  readonly request: SignInRequest;
  readonly problem: string | undefined;
  /** Undefined if there is no account of this server to sign in with or to create. */
  readonly accounts?: AccountForm | undefined;
  /** The path that the forms lead to, and their hidden fields. */
  readonly action: string;
  readonly fields: readonly (readonly [name: string, value: string])[];
}

export function choicePage({ offer, request, problem, accounts, action, fields }: Choice): Page {
  const { operatorHost, hasOrganizations, organization } = offer;
  const own = organization?.providers ?? [];
  if (operatorHost === undefined && !hasOrganizations && own.length === 0 && accounts === undefined) return notConfiguredPage(organization);
  const hidden = fields.map(([name, value]) => html`<input type="hidden" name="${name}" value="${value}">`);
  const operators =
    operatorHost === undefined
      ? undefined
      : html`<form method="get" action="${action}">
${hidden}<input type="hidden" name="client_id" value="holt">
<button${hasOrganizations ? html` class="other"` : undefined}>Sign in with ${operatorHost}</button>
</form>`;
  const content = html`${alert(problem)}${invited(request)}${required(offer)}${own.map(({ uid, name }) => providerForm(action, hidden, { uid, name }))}
${own.length > 0 && hasOrganizations ? html`<h2>With another organization's sign-in</h2>` : undefined}
${hasOrganizations ? organizationForm(action, hidden, problem !== undefined) : undefined}
${hasOrganizations && operators !== undefined ? html`<h2>Without an organization's sign-in</h2>` : undefined}
${operators}
${accounts && accountForms(accounts)}`;
  const status = problem !== undefined ? 404 : accounts?.problem !== undefined ? 401 : 200;
  if (accounts === undefined) return page(status, "Sign in", content, { organization });
  return { ...page(status, "Sign in", content, { organization, head: PASSKEY_HEAD }), hasScript: true };
}

function providerForm(action: string, hidden: readonly Html[], { uid, name }: { readonly uid: string; readonly name: string }): Html {
  return html`<form method="get" action="${action}">
${hidden}<input type="hidden" name="idp_id" value="${uid}">
<button>Sign in with ${name}</button>
</form>
`;
}

/** Requirements of the organization, shown before the sign-in. */
function required({ organization }: ProviderChoice): Html | undefined {
  const { requiresOwnProvider, requiresSecondFactor } = organization?.policy ?? {};
  if (requiresOwnProvider) return html`<p>${organization?.name} lets people in through its own sign-in only.</p>`;
  return requiresSecondFactor ? html`<p>${organization?.name} requires a second factor, such as a passkey or a code.</p>` : undefined;
}

function organizationForm(action: string, hidden: readonly Html[], isWrong: boolean): Html {
  return html`<form method="get" action="${action}">
${hidden}<label for="idp_id">Your organization</label>
<p class="hint" id="idp_id-hint">Its name as it is written here, which is often its domain: example.com</p>
<input id="idp_id" name="idp_id" required maxlength="1100" autocomplete="organization" autocapitalize="none" spellcheck="false" aria-describedby="idp_id-hint${isWrong ? " problem" : ""}"${isWrong ? html` aria-invalid="true"` : undefined}>
<button>Continue</button>
</form>`;
}

function invited({ invite }: SignInRequest): Html | undefined {
  return invite === "" ? undefined : html`<p>You were invited. Sign in first; then you see what you join, and decide.</p>`;
}

function notConfiguredPage(organization: OrganizationPage | undefined): Page {
  if (organization !== undefined)
    return page(503, "Nobody can sign in now", html`<p>${organization.name} has no sign-in on this server. Ask its administrator.</p>`, {
      organization,
    });
  return page(
    503,
    "Nobody can sign in yet",
    html`<p>This server knows no identity provider, and nobody has an account here yet.</p>
<h2>If you run this server</h2>
<p>You are its first owner already. On the machine that has its data folder, <code>holtd account-link</code> prints a link that gives you an account. Sign in with it and invite others, who create accounts by their invites.</p>
<p>Without an account, <code>npm run -s token</code>, or <code>holtd token</code>, prints an access token for an hour.</p>
<p>To let people sign in with your provider, set <code>HOLT_LOGIN_ISSUER</code>, <code>HOLT_LOGIN_CLIENT_ID</code> and, if your provider gave you one, <code>HOLT_LOGIN_CLIENT_SECRET</code>, and start it again. With the provider, register the address <code>/oauth/callback</code> of this server.</p>
<h2>If you own an organization here</h2>
<p>Register its identity provider: <code>POST /iam/v2/identityProviders</code>, described at <a href="/docs">/docs</a>.</p>
<h2>Otherwise</h2>
<p>Ask whoever runs this server.</p>`,
  );
}

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
<input type="hidden" name="handle" value="${handle}">
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
<input type="hidden" name="handle" value="${handle}">
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
<input type="hidden" name="handle" value="${offers.handle}">
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
