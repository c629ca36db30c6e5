/** The page on which a person chooses how to sign in. */
import type { OrganizationPage } from "../../iam/policy/organization-page.ts";
import type { AccountForm } from "../accounts/account-form.ts";
import type { ProviderChoice } from "../providers.ts";
import type { SignInRequest } from "../request.ts";
import { accountForms } from "./account-sign-in-pages.ts";
import { type Html, html } from "./html.ts";
import { alert, type Page, page } from "./page.ts";
import { passkeyPage } from "./passkey-page.ts";

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
  return passkeyPage(status, "Sign in", content, organization);
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
