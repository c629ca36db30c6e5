/** The frame of all pages of sign-in: one heading, the style sheet and the icon. They load nothing from elsewhere. */
import type { OrganizationPage } from "../../iam/policy/organization-page.ts";
import { type Html, html } from "./html.ts";

export interface Page {
  readonly status: number;
  readonly body: string;
  /** Whether the page has the script for passkeys. */
  readonly hasScript?: boolean;
}

export interface PageParts {
  /** Additional elements of the document's head. */
  readonly head?: Html;
  /** The organization that the person signs in for. */
  readonly organization?: Pick<OrganizationPage, "name" | "logoPath"> | undefined;
}

export function page(status: number, title: string, content: Html, { head, organization }: PageParts = {}): Page {
  const document = html`<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="robots" content="noindex">${head}
<title>${title}${organization && html` &ndash; ${organization.name}`} &ndash; Holt</title>
<link rel="icon" type="image/svg+xml" href="/oauth/icon.svg">
<link rel="stylesheet" href="/oauth/style.css">
</head>
<body>
<main>
${brand(organization)}<h1>${title}</h1>
${content}
</main>
</body>
</html>
`;
  return { status, body: document.text };
}

/** The product, and the organization with its logo. The names are text, so the images need no description. */
function brand(organization: PageParts["organization"]): Html {
  const logo = organization?.logoPath;
  return html`<p class="brand"><img src="/oauth/icon.svg" alt="" width="24" height="24"> Holt</p>
${
  organization &&
  html`<p class="organization">${logo && html`<img src="${logo}" alt=""> `}${organization.name}</p>
`
}`;
}

/** Leads on to the console at the end of a sign-in that no program waits for. */
export const ONWARD = html`<p><a href="/">Open Holt</a></p>`;

export function alert(problem: string | undefined): Html | undefined {
  return problem === undefined ? undefined : html`<p class="problem" id="problem" role="alert">${problem}</p>`;
}

/** Names the sign-in or the account that a form continues. */
export function handleField(handle: string): Html {
  return html`<input type="hidden" name="handle" value="${handle}">`;
}
