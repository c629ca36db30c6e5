/**
 * Serves the web console: one page for all its screens, and the scripts and styles that `npm run build -w packages/console` has written.
 * Reads each file at its first request.
 */
import { randomBytes } from "node:crypto";
import { extname, join } from "node:path";
import { type HttpRequest, type HttpResponse, type RequestHandler, send } from "../http/http-exchange.ts";
import type { Mount } from "../http/mount.ts";
import { readOnly } from "../http/router.ts";
import { createStaticAsset, type StaticAsset, sendAsset } from "../http/static-asset.ts";
import type { Log } from "../lib/log.ts";
import { type ProgramFiles, programFiles } from "../lib/program-files.ts";

/** Where browsers find the console. Its screens have addresses below. */
export const CONSOLE_PATH = "/console/";
const ASSETS = "/console/assets/";
const MISSING =
  "The web console is not built. Run `npm ci` or `npm run build -w packages/console` in the folder of Holt, then restart the server.\n";

/** The build writes this where a page needs the nonce of its styles. */
const NONCE_PLACEHOLDER = "CSP_NONCE";

const TYPES: Readonly<Record<string, string>> = {
  ".js": "text/javascript; charset=utf-8",
  ".css": "text/css; charset=utf-8",
  ".svg": "image/svg+xml",
  ".woff2": "font/woff2",
};

/** The names of assets contain a hash of their content. */
const IMMUTABLE = { "cache-control": "public, max-age=31536000, immutable" };

export function createConsole(log: Log, files = programFiles("console", () => join(import.meta.dirname, "../../../console/dist"))): Mount {
  const paths = [CONSOLE_PATH.slice(0, -1), `${CONSOLE_PATH}*`];
  if (files.has("index.html")) return { paths, serve: readOnly(createConsoleHandler(files)) };
  log.warn("the web console is not built, so browsers get a message in its place; `npm run build -w packages/console` builds it");
  return { paths, serve: readOnly((_request, response) => send(response, 503, { type: "text/plain; charset=utf-8", text: MISSING })) };
}

function createConsoleHandler(files: ProgramFiles): RequestHandler {
  const names = new Set(files.list("assets").filter((name) => extname(name) in TYPES));
  const assets = new Map<string, StaticAsset>();
  const page = files.read("index.html").toString("utf8").split(NONCE_PLACEHOLDER);

  function assetOf(name: string): StaticAsset | undefined {
    if (!names.has(name)) return undefined;
    const asset = assets.get(name) ?? readAsset(files, `assets/${name}`);
    assets.set(name, asset);
    return asset;
  }

  return (request, response) => {
    const path = pathOf(request);
    if (!path.startsWith(ASSETS)) return sendConsolePage(response, page);
    const asset = assetOf(path.slice(ASSETS.length));
    if (asset === undefined) send(response, 404, { type: "text/plain", text: "Not found\n" });
    else sendAsset(request, response, asset, IMMUTABLE);
  };
}

/** The build puts both compressed forms beside each file. */
function readAsset(files: ProgramFiles, path: string): StaticAsset {
  const precompressed = { gzipped: files.read(`${path}.gz`), brotli: files.read(`${path}.br`) };
  return createStaticAsset(TYPES[extname(path)] ?? "application/octet-stream", files.read(path), precompressed);
}

/** Every screen has the same page; its script reads the address. Never cached, because the nonce must not be known beforehand. */
function sendConsolePage(response: HttpResponse, page: readonly string[]): void {
  const nonce = randomBytes(16).toString("base64");
  send(response, 200, { type: "text/html; charset=utf-8", text: page.join(nonce) }, securityHeaders(nonce));
}

/**
 * Allows scripts, styles and requests of this server only. The component library writes a few style elements while the page runs; the nonce
 * admits these and no others.
 */
function securityHeaders(nonce: string): Record<string, string> {
  const policy = [
    "default-src 'none'",
    "script-src 'self'",
    `style-src 'self' 'nonce-${nonce}'`,
    "img-src 'self' data:",
    "font-src 'self'",
    "connect-src 'self'",
    "base-uri 'none'",
    "form-action 'none'",
    "frame-ancestors 'none'",
  ];
  return {
    "content-security-policy": policy.join("; "),
    "referrer-policy": "no-referrer",
    "x-frame-options": "DENY",
    "cross-origin-opener-policy": "same-origin",
    "cache-control": "no-store",
  };
}

function pathOf({ url = "" }: HttpRequest): string {
  const query = url.indexOf("?");
  return query < 0 ? url : url.slice(0, query);
}
