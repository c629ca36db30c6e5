/** Pages with a button for passkeys, which needs a script. */
import { type Html, html } from "./html.ts";
import { type Page, type PageParts, page } from "./page.ts";

const PASSKEY_HEAD = html`
<script src="/oauth/passkey.js" defer></script>`;

export function passkeyPage(status: number, title: string, content: Html, organization?: PageParts["organization"]): Page {
  return { ...page(status, title, content, { head: PASSKEY_HEAD, organization }), hasScript: true };
}

interface PasskeyButton {
  readonly ceremony: "create" | "use";
  readonly options: object | undefined;
  readonly label: string;
}

/** Hidden until the script finds that the browser has passkeys. */
export function passkeyButton({ ceremony, options, label }: PasskeyButton): Html | undefined {
  return (
    options &&
    html`<input type="hidden" name="credential" value="">
<button type="button" hidden data-passkey="${ceremony}" data-options="${JSON.stringify(options)}">${label}</button>
<p class="problem" role="alert" hidden data-passkey-problem></p>`
  );
}
