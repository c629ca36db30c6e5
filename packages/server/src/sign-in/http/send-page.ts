/** Sends pages, with headers that keep other sites and scripts away from them. */
import { type HttpResponse, send } from "../../http/http-exchange.ts";
import type { Page } from "./page.ts";

/** Allows the server's own style sheet, icon and forms, and nothing else. Pages for passkeys also have the server's script. */
const PAGE_HEADERS = {
  "content-security-policy":
    "default-src 'none'; style-src 'self'; img-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'",
  "referrer-policy": "no-referrer",
  "x-frame-options": "DENY",
  "cross-origin-opener-policy": "same-origin",
  "cache-control": "no-store",
};

const SCRIPTED_HEADERS = { ...PAGE_HEADERS, "content-security-policy": `${PAGE_HEADERS["content-security-policy"]}; script-src 'self'` };

export function sendPage(response: HttpResponse, { status, body, hasScript = false }: Page): void {
  send(response, status, { type: "text/html; charset=utf-8", text: body }, hasScript ? SCRIPTED_HEADERS : PAGE_HEADERS);
}
