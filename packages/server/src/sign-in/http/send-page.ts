/** Sends pages, with headers that keep other sites and scripts away from them. */
import { type HttpResponse, send } from "../../http/http-exchange.ts";
import type { Page } from "./pages.ts";

/** Allows the server's own style sheet, icon and forms, and nothing else. */
const PAGE_HEADERS = {
  "content-security-policy":
    "default-src 'none'; style-src 'self'; img-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'",
  "referrer-policy": "no-referrer",
  "x-frame-options": "DENY",
  "cross-origin-opener-policy": "same-origin",
  "cache-control": "no-store",
};

export function sendPage(response: HttpResponse, { status, body }: Page): void {
  send(response, status, { type: "text/html; charset=utf-8", text: body }, PAGE_HEADERS);
}
