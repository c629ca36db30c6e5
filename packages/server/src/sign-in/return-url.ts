/**
 * Checks and fills in the address to which a browser returns the result of a sign-in: a program on the same machine.
 * Pure.
 */
import { SignInRefusal } from "./refusal.ts";

const LOOPBACK = new Set(["127.0.0.1", "[::1]", "localhost"]);
const MAX_URL_LENGTH = 1024;

/**
 * Accepts loopback addresses only: any other address would be an open redirect that leaks tokens.
 * @throws SignInRefusal
 */
export function parseReturnUrl(text: string): string {
  const url = text.length > MAX_URL_LENGTH ? null : URL.parse(text);
  const isLoopback =
    url !== null && url.protocol === "http:" && LOOPBACK.has(url.hostname) && url.username === "" && url.password === "" && url.hash === "";
  if (url === null || !isLoopback)
    throw new SignInRefusal(
      400,
      "The program that sent you here wants the result at an address that is not on your own machine, so it gets none. " +
        "If you trust the program, tell its developers: it must listen at http://127.0.0.1, http://[::1] or http://localhost.",
    );
  return url.href;
}

/** Replaces `token=true` and `error=true`, by which the program requests these parameters. */
export function withTokens(returnUrl: string, token: string, refreshToken: string | undefined): string {
  return setParameters(returnUrl, { token, refresh_token: refreshToken, error: undefined, status_code: undefined });
}

export function withError(returnUrl: string, { status, message }: SignInRefusal): string {
  return setParameters(returnUrl, { error: message, status_code: String(status), token: undefined, refresh_token: undefined });
}

function setParameters(returnUrl: string, values: Readonly<Record<string, string | undefined>>): string {
  const url = new URL(returnUrl);
  for (const [name, value] of Object.entries(values)) {
    if (value === undefined) url.searchParams.delete(name);
    else url.searchParams.set(name, value);
  }
  return url.href;
}
