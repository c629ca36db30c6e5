/** Gets an access token of a context, and renews it if necessary. */
import type { Token, TokenSource } from "@holt/client";
import { exitStatus, Failure, usageFailure } from "../failure.ts";
import { deferInterrupts } from "../terminal/interrupts.ts";
import { type NamedContext, parseServerUrl } from "./contexts.ts";
import { type AccessToken, type Credential, readCredential, saveCredential, withCredentialLock } from "./credentials.ts";

/** Renewed when less than this is left. */
const RENEW_BEFORE_MS = 60_000;

/** HOLT_TOKEN wins over the credential of the context, but only for the server that HOLT_URL names: no other may get it. */
export function tokenOfContext(context: NamedContext): TokenSource {
  return async () => {
    const { HOLT_TOKEN, HOLT_URL } = process.env;
    // The credential of the context may be that of another account.
    if (HOLT_TOKEN && !HOLT_URL) throw usageFailure("HOLT_TOKEN is set without HOLT_URL", "set HOLT_URL to the server of the token");
    if (HOLT_TOKEN && HOLT_URL && parseServerUrl(HOLT_URL) === context.url) return { token: HOLT_TOKEN, expiry: undefined };
    return storedTokenOf(context);
  };
}

/** The token of the context's own credential, whatever HOLT_TOKEN is. */
export async function storedTokenOf(context: NamedContext): Promise<Token> {
  if (context.name === undefined) throw signedOut(context);
  const credential = await readCredential(context.name);
  if (credential === undefined) throw signedOut(context);
  return tokenFrom(usable(credential) ?? (await renewOnce(context.name, context)));
}

/** Another process may have renewed it meanwhile. */
async function renewOnce(name: string, context: NamedContext): Promise<AccessToken> {
  return withCredentialLock(async () => {
    const credential = await readCredential(name);
    if (credential === undefined) throw signedOut(context);
    const current = usable(credential);
    if (current !== undefined) return current;
    if (credential.kind === "access")
      throw new Failure("the token has expired", { advice: `sign in again: holt login ${context.url}`, status: exitStatus.signedOut });
    // An interrupt between the exchange and the save would lose the next refresh token.
    return deferInterrupts(async () => {
      const { renew } = await import("./renew.ts");
      const renewed = await renew(credential, context.url);
      await saveCredential(name, renewed);
      return renewed.access;
    });
  });
}

function usable({ access }: Credential): AccessToken | undefined {
  if (access === undefined) return undefined;
  const isFresh = access.expiry === undefined || Date.parse(access.expiry) - Date.now() > RENEW_BEFORE_MS;
  return isFresh ? access : undefined;
}

export function tokenFrom({ token, expiry }: AccessToken): Token {
  return { token, expiry: expiry === undefined ? undefined : new Date(expiry) };
}

function signedOut({ url }: NamedContext): Failure {
  return new Failure(`you are not signed in at ${url}`, { advice: `sign in with: holt login ${url}`, status: exitStatus.signedOut });
}
