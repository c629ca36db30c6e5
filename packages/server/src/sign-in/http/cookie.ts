/** The cookies of sign-in. No script and no other site can read or send them. */

import type { HttpRequest } from "../../http/http-exchange.ts";
import type { Secrets } from "../../iam/secrets/secrets.ts";
import { randomSecret } from "../pending.ts";

export interface Cookie {
  /** @returns undefined if the browser has no such cookie */
  read(request: HttpRequest): string | undefined;
  /** The `Set-Cookie` header that sets the cookie or renews it. */
  header(value: string): string;
}

interface CookieRules {
  readonly name: string;
  /** Other values are ignored. */
  readonly value: RegExp;
  readonly maxAgeSeconds: number;
}

/**
 * SameSite is Lax, because the browser comes back from the provider by a link from another site. With TLS, the prefix of the name
 * keeps other hosts from setting the cookie (RFC 6265bis §4.1.3.2).
 */
function createCookie(baseUrl: string, { name: plainName, value: allowed, maxAgeSeconds }: CookieRules): Cookie {
  const isSecure = baseUrl.startsWith("https:");
  const name = isSecure ? `__Host-${plainName}` : plainName;
  return {
    read({ headers }) {
      for (const pair of (headers.cookie ?? "").split(";")) {
        const [key, value = ""] = pair.trim().split("=", 2);
        if (key === name && allowed.test(value)) return value;
      }
      return undefined;
    },
    header: (value) => `${name}=${value}; Path=/; Max-Age=${maxAgeSeconds}; HttpOnly; SameSite=Lax${isSecure ? "; Secure" : ""}`,
  };
}

export function newBrowser(): string {
  return randomSecret();
}

/** The cookie that binds a sign-in to the browser that began it, so that nobody can slip their own sign-in to another person. */
export function createBrowserCookie(baseUrl: string): Cookie {
  return createCookie(baseUrl, { name: "holt-sign-in", value: /^[A-Za-z0-9_-]{43}$/, maxAgeSeconds: 3600 });
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
