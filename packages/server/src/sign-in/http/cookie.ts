/** The cookie that binds a sign-in to the browser that began it, so that nobody can slip their own sign-in to another person. */

import type { HttpRequest } from "../../http/http-exchange.ts";
import { randomSecret } from "../pending.ts";

export interface BrowserCookie {
  /** @returns undefined if the browser has no cookie */
  read(request: HttpRequest): string | undefined;
  /** The `Set-Cookie` header that sets the cookie or renews it. */
  header(value: string): string;
}

const VALUE = /^[A-Za-z0-9_-]{43}$/;
const MAX_AGE_SECONDS = 3600;

export function newBrowser(): string {
  return randomSecret();
}

/**
 * SameSite is Lax, because the browser comes back from the provider by a link from another site. With TLS, the prefix of the name
 * keeps other hosts from setting the cookie (RFC 6265bis §4.1.3.2).
 */
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
