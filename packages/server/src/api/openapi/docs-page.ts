/** Serves the page that shows the OpenAPI document: Swagger UI, with all files from this server. The manual is beside it. */
import { createRequire } from "node:module";
import { dirname } from "node:path";
import { type HttpRequest, type HttpResponse, type RequestHandler, send } from "../../http/http-exchange.ts";
import { createStaticAsset, type StaticAsset, sendAsset } from "../../http/static-asset.ts";
import { programFiles } from "../../lib/program-files.ts";
import { MANUAL_PATH } from "./manual-path.ts";

const HTML = `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>Holt API</title>
<link rel="icon" type="image/png" href="/docs/favicon-32x32.png">
<link rel="stylesheet" href="/docs/swagger-ui.css">
<link rel="stylesheet" href="/docs/style.css">
</head>
<body>
<nav aria-label="Holt"><a href="/">Console</a> <a href="${MANUAL_PATH}">Manual</a> <a href="/docs">API</a></nav>
<div id="docs"></div>
<noscript>This page needs JavaScript. The document itself is at <a href="/openapi.json">/openapi.json</a>.</noscript>
<script src="/docs/swagger-ui-bundle.js"></script>
<script src="/docs/start.js"></script>
</body>
</html>
`;

/** The colors of the manual around Swagger UI, and room on a phone: texts wrap, and wide tables scroll. */
const STYLE = `:root { color-scheme: light dark; }
body { margin: 0; background: light-dark(#fff, #1c2022); }
nav { display: flex; gap: 1rem; padding: .75rem 1rem; border-bottom: 1px solid #8884; font: 16px/1.6 system-ui, sans-serif; }
nav a { color: light-dark(#1864ab, #8ec5ff); }
.swagger-ui { overflow-wrap: anywhere; }
@media (max-width: 48rem) {
  .swagger-ui .wrapper { padding: 0 .5rem; }
  .swagger-ui .info { margin: 1.5rem 0; }
  .swagger-ui .info .title { font-size: 1.75rem; }
  .swagger-ui .scheme-container .schemes { flex-wrap: wrap; }
  .swagger-ui .opblock-tag { font-size: 1.1rem; padding: .5rem 0; }
  .swagger-ui .opblock-tag small { padding: 0; flex-basis: 100%; }
  .swagger-ui .opblock-tag, .swagger-ui .opblock .opblock-summary-control { flex-wrap: wrap; }
  .swagger-ui .opblock .opblock-summary-path { max-width: 100%; flex-shrink: 1; }
  .swagger-ui .opblock .opblock-summary-method { min-width: 4rem; padding: .25rem; }
  .swagger-ui .table-container, .swagger-ui .responses-inner, .swagger-ui .highlight-code { overflow-x: auto; }
  .swagger-ui .parameters-col_name { width: 7rem; min-width: 0; }
  .swagger-ui input[type=text], .swagger-ui select, .swagger-ui textarea { max-width: 100%; min-width: 0; }
}
`;

/** Without a validator, which would send the document to a third party, and without options from the page's URL. */
const START = `const dark = matchMedia("(prefers-color-scheme: dark)");
const choose = () => document.documentElement.classList.toggle("dark-mode", dark.matches);
dark.addEventListener("change", choose);
choose();
SwaggerUIBundle({
  url: "/openapi.json",
  dom_id: "#docs",
  deepLinking: true,
  docExpansion: "none",
  filter: true,
  validatorUrl: null,
  queryConfigEnabled: false,
});
`;

/** Allows scripts, styles and requests of this server only; the icons of the style sheet are data: URLs. */
const SECURITY = {
  "content-security-policy":
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
  "referrer-policy": "no-referrer",
  "x-frame-options": "DENY",
};

/** Answers `/docs` and the paths below. Reads each file at its first request. */
export function createDocsHandler(): RequestHandler {
  const sources: ReadonlyMap<string, () => StaticAsset> = new Map([
    ["/docs", () => createStaticAsset("text/html; charset=utf-8", Buffer.from(HTML))],
    ["/docs/style.css", () => createStaticAsset("text/css; charset=utf-8", Buffer.from(STYLE))],
    ["/docs/start.js", () => createStaticAsset("text/javascript; charset=utf-8", Buffer.from(START))],
    ["/docs/swagger-ui-bundle.js", () => swaggerAsset("swagger-ui-bundle.js", "text/javascript; charset=utf-8")],
    ["/docs/swagger-ui.css", () => swaggerAsset("swagger-ui.css", "text/css; charset=utf-8")],
    ["/docs/favicon-32x32.png", () => swaggerAsset("favicon-32x32.png", "image/png")],
  ]);
  let manual: typeof sources | undefined;
  const assets = new Map<string, StaticAsset>();

  async function assetOf(path: string): Promise<StaticAsset | undefined> {
    if (!path.startsWith(MANUAL_PATH)) return sources.get(path)?.();
    manual ??= (await import("./manual.ts")).manualSources();
    return manual.get(path)?.();
  }

  async function answer(request: HttpRequest, response: HttpResponse): Promise<void> {
    const path = pathOf(request);
    const asset = assets.get(path) ?? (await assetOf(path));
    if (asset === undefined) return send(response, 404, { type: "text/plain", text: "Not found\n" });
    assets.set(path, asset);
    sendAsset(request, response, asset, SECURITY);
  }

  return (request, response) => void answer(request, response).catch((error) => response.destroy(error));
}

function pathOf({ url = "" }: HttpRequest): string {
  const query = url.indexOf("?");
  const path = query < 0 ? url : url.slice(0, query);
  return path === "/docs/" ? "/docs" : path;
}

function swaggerAsset(file: string, contentType: string): StaticAsset {
  const files = programFiles("swagger-ui", () => dirname(createRequire(import.meta.url).resolve("swagger-ui-dist/package.json")));
  return createStaticAsset(contentType, files.read(file));
}
