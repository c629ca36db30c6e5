/** The page that a browser gets at a path that does not exist. API clients get JSON instead. */
import { type HttpRequest, type HttpResponse, send } from "../../http/http-exchange.ts";

const PAGE = `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>Not found - Holt</title>
</head>
<body>
<h1>There is nothing at this address</h1>
<p>This is a Holt server. Its API is described at <a href="/docs">/docs</a>.</p>
</body>
</html>
`;

const HEADERS = {
  "content-security-policy": "default-src 'none'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
  "referrer-policy": "no-referrer",
  "x-content-type-options": "nosniff",
  "cache-control": "no-store",
  link: '</docs>; rel="help"',
};

/** Browsers list text/html when a person opens an address; scripts and API clients do not. */
export function isBrowser({ method, headers }: HttpRequest): boolean {
  return (method === "GET" || method === "HEAD") && /\btext\/html\b/.test(headers.accept ?? "");
}

export function sendUnknownPage(response: HttpResponse): void {
  send(response, 404, { type: "text/html; charset=utf-8", text: PAGE }, HEADERS);
}
