/** Exchanges the login token of a sign-in elsewhere, or another issuer's token, for an access token and a refresh token. */
import type { Rest } from "@holt/client/rest";
import type { SignedIn } from "./browser.ts";

interface TokenPair {
  readonly token?: string;
  readonly refreshToken?: string;
}

/** @param identity uid of the identity to act as; undefined for the person that the token describes */
export async function exchangeLogin(rest: Rest, loginToken: string, identity?: string): Promise<SignedIn> {
  const headers = { authorization: `Bearer ${loginToken}` };
  const body = new URLSearchParams(identity === undefined ? {} : { identity });
  const pair = (await rest.call({ method: "POST", path: "/sts/exchange", headers, body })) as TokenPair;
  return { token: pair.token ?? "", refreshToken: pair.refreshToken || undefined };
}
