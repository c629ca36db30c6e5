/** The cookies of sign-in. No script and no other site can read or send them. */

import type { HttpRequest } from "../../http/http-exchange.ts";
import type { Secrets } from "../../iam/secrets/secrets.ts";
import { SESSION_SECRET } from "../../iam/tokens/browser-session.ts";
import { LIFETIME_MS } from "../../iam/tokens/refresh-token.ts";
import { randomSecret } from "../pending.ts";

/** Begins and renews sessions of the console; the endpoint below ends them. */
export const SESSION_PATH = "/oauth/session";

export interface Cookie {
  /** @returns undefined if the browser has no such cookie */
  read(request: HttpRequest): string | undefined;
  /** The `Set-Cookie` header that sets the cookie or renews it. */
  header(value: string): string;
  /** The `Set-Cookie` header that removes the cookie. */
  removal(): string;
}

interface CookieRules {
  readonly name: string;
  /** Other values are ignored. */
  readonly value: RegExp;
  readonly maxAgeSeconds: number;
  /** The only path that the browser sends it to; every path by default. */
  readonly path?: string;
  /** Lax by default, because the browser comes back from the provider by a link from another site. */
  readonly sameSite?: "Lax" | "Strict";
}

/** With TLS, the prefix of the name keeps other hosts from setting the cookie (RFC 6265bis §4.1.3). */
function createCookie(
  baseUrl: string,
  { name: plainName, value: allowed, maxAgeSeconds, path = "/", sameSite = "Lax" }: CookieRules,
): Cookie {
  const isSecure = baseUrl.startsWith("https:");
  const name = isSecure ? `${path === "/" ? "__Host-" : "__Secure-"}${plainName}` : plainName;
  const attributes = `HttpOnly; SameSite=${sameSite}${isSecure ? "; Secure" : ""}`;
  return {
    read({ headers }) {
      for (const pair of (headers.cookie ?? "").split(";")) {
        const [key, value = ""] = pair.trim().split("=", 2);
        if (key === name && allowed.test(value)) return value;
      }
      return undefined;
    },
    header: (value) => `${name}=${value}; Path=${path}; Max-Age=${maxAgeSeconds}; ${attributes}`,
    removal: () => `${name}=; Path=${path}; Max-Age=0; ${attributes}`,
  };
}

export function newBrowser(): string {
  return randomSecret();
}

/** The cookie that binds a sign-in to the browser that began it, so that nobody can slip their own sign-in to another person. */
export function createBrowserCookie(baseUrl: string): Cookie {
  return createCookie(baseUrl, { name: "holt-sign-in", value: /^[A-Za-z0-9_-]{43}$/, maxAgeSeconds: 3600 });
}

/** The secret of the session with the console. Only the endpoint of sessions gets it, and never from another site. */
export function createSessionCookie(baseUrl: string): Cookie {
  return createCookie(baseUrl, {
    name: "holt-session",
    value: SESSION_SECRET,
    maxAgeSeconds: LIFETIME_MS / 1000,
    path: SESSION_PATH,
    sameSite: "Strict",
  });
}

/** The keys of the programs that a person has confirmed in this browser (known-programs.ts). */
export interface ProgramsCookie {
  read(request: HttpRequest): readonly string[];
  header(keys: readonly string[]): string;
}

const HALF_A_YEAR_SECONDS = 180 * 24 * 3600;
const PROGRAMS_CONTEXT = "sign_in/programs";

/** The keys are sealed, so that only a person's answer adds one. */
export function createProgramsCookie(baseUrl: string, secrets: Secrets): ProgramsCookie {
  const cookie = createCookie(baseUrl, { name: "holt-programs", value: /^[A-Za-z0-9._-]{1,4000}$/, maxAgeSeconds: HALF_A_YEAR_SECONDS });
  return {
    read(request) {
      const sealed = cookie.read(request);
      if (sealed === undefined) return [];
      try {
        return secrets.open(sealed, PROGRAMS_CONTEXT).split(" ");
      } catch {
        // Sealed with an earlier key, or forged: the person is asked again.
        return [];
      }
    },
    header: (keys) => cookie.header(secrets.seal(keys.join(" "), PROGRAMS_CONTEXT)),
  };
}
