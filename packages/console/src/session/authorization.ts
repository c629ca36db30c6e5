/** Sends the browser to the sign-in pages of the server, and takes the code that it comes back with (RFC 7636). */

const STORED = "holt-sign-in";

interface Begun {
  readonly state: string;
  readonly verifier: string;
  /** Address of the screen to return to, below the console. */
  readonly returnTo: string;
}

/** Leaves the page. */
export async function beginSignIn(returnTo: string): Promise<void> {
  const begun: Begun = { state: randomText(), verifier: randomText(), returnTo };
  sessionStorage.setItem(STORED, JSON.stringify(begun));
  const query = new URLSearchParams({
    response_type: "code",
    redirect_uri: "/console/sign-in",
    state: begun.state,
    code_challenge: await challengeOf(begun.verifier),
    code_challenge_method: "S256",
  });
  location.assign(`/oauth?${query}`);
}

/** @returns undefined if this tab did not begin the sign-in */
export function takeSignIn(state: string): Begun | undefined {
  const stored = sessionStorage.getItem(STORED);
  sessionStorage.removeItem(STORED);
  const begun = stored === null ? undefined : (JSON.parse(stored) as Begun);
  return begun?.state === state ? begun : undefined;
}

function randomText(): string {
  return base64url(crypto.getRandomValues(new Uint8Array(32)));
}

async function challengeOf(verifier: string): Promise<string> {
  return base64url(new Uint8Array(await crypto.subtle.digest("SHA-256", new TextEncoder().encode(verifier))));
}

function base64url(bytes: Uint8Array): string {
  return btoa(String.fromCharCode(...bytes))
    .replaceAll("+", "-")
    .replaceAll("/", "_")
    .replaceAll("=", "");
}
