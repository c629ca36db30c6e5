/** Signs in with the browser of this machine. The result arrives at a loopback address (docs/sign-in.md, "Programs"). */
import { spawn } from "node:child_process";
import { randomBytes, timingSafeEqual } from "node:crypto";
import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import type { Rest } from "@holt/client/rest";
import { exitStatus, Failure } from "../failure.ts";
import { type SignInTarget, signInUrl } from "./sign-in-url.ts";

export interface SignInOptions extends SignInTarget {
  /** Calls of the server. */
  readonly rest: Rest;
  readonly signal: AbortSignal;
}

export interface SignedIn {
  readonly token: string;
  readonly refreshToken: string | undefined;
}

/** The page asks the person once per port, so the same one is used if it is free. */
const PORT = 8957;

export async function signInWithBrowser(baseUrl: string, options: SignInOptions & { readonly mayOpen: boolean }): Promise<SignedIn> {
  // Other web pages and users of this machine cannot guess the path.
  const path = `/${randomBytes(16).toString("base64url")}`;
  const server = createServer();
  try {
    const port = await listen(server);
    const redirect = `http://127.0.0.1:${port}${path}?token=true&refresh_token=true&error=true`;
    const result = receive(server, path, options.signal);
    const url = signInUrl(baseUrl, { exit: "redirect", redirect, create_refresh_token: "true" }, options);
    process.stderr.write(`Open this address in your browser to sign in:\n\n  ${url}\n\n`);
    if (options.mayOpen) openBrowser(url);
    return await result;
  } finally {
    server.close();
    server.closeAllConnections();
  }
}

async function listen(server: Server): Promise<number> {
  for (const port of [PORT, 0]) {
    const isListening = await new Promise<boolean>((resolve) => {
      server.once("error", () => resolve(false)).listen(port, "127.0.0.1", () => resolve(true));
    });
    server.removeAllListeners("error");
    if (isListening) return (server.address() as AddressInfo).port;
  }
  throw new Failure("this machine lets no program listen on 127.0.0.1", { advice: "use holt login --device" });
}

function receive(server: Server, path: string, signal: AbortSignal): Promise<SignedIn> {
  return new Promise((resolve, reject) => {
    signal.addEventListener("abort", () => reject(signal.reason), { once: true });
    server.on("request", (request, response) => {
      const url = new URL(request.url ?? "/", "http://127.0.0.1");
      if (request.method !== "GET" || !isEqual(url.pathname, path)) return void response.writeHead(404).end();
      const { searchParams: query } = url;
      const token = query.get("token") ?? "";
      const error = query.get("error");
      const hasFailed = query.has("status_code") || token === "" || token === "true";
      const text = hasFailed ? "The sign-in failed. The terminal has the reason." : "You are signed in. You can close this page.";
      // The tokens must not stay in the address bar's history longer than necessary, nor leave it as a referrer.
      const headers = {
        "content-type": "text/html; charset=utf-8",
        "cache-control": "no-store",
        "referrer-policy": "no-referrer",
        connection: "close",
      };
      response.writeHead(hasFailed ? 400 : 200, headers).end(`<!doctype html><title>holt</title><p>${text}</p>`);
      if (hasFailed) reject(new Failure(error ?? "the sign-in failed", { status: exitStatus.signedOut, advice: "try again: holt login" }));
      else resolve({ token, refreshToken: realToken(query.get("refresh_token")) });
    });
  });
}

/** The server removes the parameter or replaces it. */
function realToken(value: string | null): string | undefined {
  return value === null || value === "" || value === "true" ? undefined : value;
}

function isEqual(given: string, expected: string): boolean {
  const a = Buffer.from(given);
  const b = Buffer.from(expected);
  return a.length === b.length && timingSafeEqual(a, b);
}

/** BROWSER names another program. Without a browser, the person opens the address. */
function openBrowser(url: string): void {
  const { BROWSER } = process.env;
  const [program, args] = BROWSER
    ? [BROWSER, [url]]
    : process.platform === "darwin"
      ? ["open", [url]]
      : process.platform === "win32"
        ? ["rundll32", ["url.dll,FileProtocolHandler", url]]
        : ["xdg-open", [url]];
  const child = spawn(program as string, args as string[], { stdio: "ignore", detached: true });
  child.on("error", () => {});
  child.unref();
}
