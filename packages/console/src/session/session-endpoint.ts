/** Requests to the endpoint of the server that begins, renews and ends the session of this browser. */

/** The server requires this header, which a page of another site cannot send. */
const HEADERS = { "x-holt-console": "1" };

export interface AccessToken {
  readonly token: string;
  /** Uid of the person. */
  readonly uid: string;
  /** Milliseconds since 1970. */
  readonly expireTime: number;
}

/** The server refused to begin a session. The message is for the person. */
class SignInError extends Error {
  override readonly name = "SignInError";
}

export function redeemCode(code: string, verifier: string): Promise<AccessToken> {
  return begin({ grant_type: "authorization_code", code, code_verifier: verifier });
}

/** @param secret from the fragment of the link that the server or `npm run token -- --link` prints */
export function redeemLink(secret: string): Promise<AccessToken> {
  return begin({ grant_type: "link", secret });
}

/** @returns undefined if this browser has no session, or its session has ended */
export async function renew(): Promise<AccessToken | undefined> {
  const answer = await post("/oauth/session", { grant_type: "refresh_token" });
  return answer.access_token === undefined ? undefined : tokenFrom(answer);
}

export async function end(): Promise<void> {
  await post("/oauth/session/end", {});
}

async function begin(form: Record<string, string>): Promise<AccessToken> {
  return tokenFrom(await post("/oauth/session", form));
}

interface Answer {
  readonly access_token?: string;
  readonly expires_in?: number;
  readonly error_description?: string;
}

/** @throws SignInError; TypeError while the server cannot be reached */
async function post(path: string, form: Record<string, string>): Promise<Answer> {
  const request = { method: "POST", headers: HEADERS, body: new URLSearchParams(form), credentials: "same-origin" } as const;
  const response = await fetch(path, request).catch((cause: unknown) => {
    throw new TypeError("The server cannot be reached. Try again.", { cause });
  });
  const answer = (await response.json().catch(() => ({}))) as Answer;
  if (!response.ok) throw new SignInError(answer.error_description ?? `The server answered with status ${response.status}. Try again.`);
  return answer;
}

function tokenFrom({ access_token: token = "", expires_in: seconds = 0 }: Answer): AccessToken {
  const { sub } = JSON.parse(atob((token.split(".")[1] ?? "").replaceAll("-", "+").replaceAll("_", "/"))) as { sub: string };
  return { token, uid: sub, expireTime: Date.now() + seconds * 1000 };
}
