/** Where a browser takes the outcome of a sign-in: to the program that began it, on the same machine, and nowhere else. Pure. */
import { SignInRefusal } from "./refusal.ts";

const LOOPBACK = new Set(["127.0.0.1", "[::1]", "localhost"]);
const MAX_LENGTH = 1024;

/**
 * Anywhere else it would hand out tokens: an open redirect that carries what everybody wants.
 * @throws SignInRefusal
 */
export function parseReturnUrl(text: string): string {
  const url = text.length > MAX_LENGTH ? null : URL.parse(text);
  const isLoopback =
    url !== null && url.protocol === "http:" && LOOPBACK.has(url.hostname) && url.username === "" && url.password === "" && url.hash === "";
  if (url === null || !isLoopback)
    throw new SignInRefusal(
      400,
      "The program that sent you here asks for the answer at an address that is not on your own machine, so it gets none. If you trust it, ask its makers: it must listen at http://127.0.0.1, http://[::1] or http://localhost.",
    );
  return url.href;
}

/** `token=true` and `error=true` are where the program wants them to be. */
export function withTokens(returnUrl: string, token: string, refreshToken: string | undefined): string {
  return filled(returnUrl, { token, refresh_token: refreshToken, error: undefined, status_code: undefined });
}

export function withError(returnUrl: string, { status, message }: SignInRefusal): string {
  return filled(returnUrl, { error: message, status_code: String(status), token: undefined, refresh_token: undefined });
}

function filled(returnUrl: string, values: Readonly<Record<string, string | undefined>>): string {
  const url = new URL(returnUrl);
  for (const [name, value] of Object.entries(values)) {
    if (value === undefined) url.searchParams.delete(name);
    else url.searchParams.set(name, value);
  }
  return url.href;
}
