/** The cookie that ties a sign-in to the browser that began it: an answer that somebody else's sign-in led to is worth nothing here. */

import type { HttpRequest } from "../../http/http-exchange.ts";
import { randomText } from "../pending.ts";

export interface BrowserCookie {
  /** Undefined where the browser has none. */
  read(request: HttpRequest): string | undefined;
  /** The header that gives it to the browser, or keeps it there. */
  header(value: string): string;
}

const VALUE = /^[A-Za-z0-9_-]{43}$/;
const MAX_AGE_SECONDS = 3600;

export function newBrowser(): string {
  return randomText();
}

/** Lax: the browser comes back from the provider by a link from another site. With TLS the prefix keeps other hosts from setting it (RFC 6265bis §4.1.3.2). */
export function createBrowserCookie(baseUrl: string): BrowserCookie {
  const isSecure = baseUrl.startsWith("https:");
  const name = isSecure ? "__Host-holt-sign-in" : "holt-sign-in";
  return {
    read({ headers }) {
      for (const pair of (headers.cookie ?? "").split(";")) {
        const [key, value = ""] = pair.trim().split("=", 2);
        if (key === name && VALUE.test(value)) return value;
      }
      return undefined;
    },
    header: (value) => `${name}=${value}; Path=/; Max-Age=${MAX_AGE_SECONDS}; HttpOnly; SameSite=Lax${isSecure ? "; Secure" : ""}`,
  };
}
