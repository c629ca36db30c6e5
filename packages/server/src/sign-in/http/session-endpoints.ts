/**
 * The endpoints of sessions with the console. Each takes a form and answers JSON. The access token is in the answer, and the secret of the
 * session in a cookie that only these endpoints get.
 */
import { type HttpRequest, type HttpResponse, send } from "../../http/http-exchange.ts";
import type { IssuedToken } from "../../iam/tokens/issue-token.ts";
import type { Clock } from "../../lib/clock.ts";
import type { Log } from "../../lib/log.ts";
import type { BegunSession, ConsoleSessions } from "../console-sessions.ts";
import { refusalFrom, SignInRefusal } from "../refusal.ts";
import { type Cookie, createSessionCookie, SESSION_PATH } from "./cookie.ts";
import { clientOf, type Endpoint, type SignInExchange } from "./sign-in-exchange.ts";

export interface SessionEndpointsOptions {
  readonly consoleSessions: ConsoleSessions;
  readonly clock: Clock;
  readonly log: Log;
  readonly baseUrl: string;
}

/** A page of another site needs a CORS preflight for this header, and the server answers none. */
const CONSOLE_HEADER = "x-holt-console";
const INVALID_LINK =
  "This link was used already or has expired. On the server, run holtd token --link, or npm run -s token -- --link in a checkout.";
const INVALID_CODE = "The sign-in took too long or was finished already. Sign in again.";
const UNKNOWN_GRANT = "grant_type must be authorization_code, link or refresh_token";

/** @returns the endpoints by path */
export function createSessionEndpoints({
  consoleSessions,
  clock,
  log,
  baseUrl,
}: SessionEndpointsOptions): readonly (readonly [string, Endpoint])[] {
  const cookie = createSessionCookie(baseUrl);
  const { sendToken, answerBegun } = createTokenAnswers(cookie, clock);

  /** Not an error without a session: the console asks at each start. */
  async function renew(exchange: SignInExchange): Promise<void> {
    const { request, response } = exchange;
    const secret = cookie.read(request);
    const token = secret === undefined ? undefined : await consoleSessions.renew(secret, clientOf(exchange));
    if (token !== undefined) return sendToken(response, token);
    if (secret !== undefined) response.setHeader("set-cookie", cookie.removal());
    sendJson(response, 200, {});
  }

  async function serve(exchange: SignInExchange): Promise<void> {
    const { request, response, state } = exchange;
    assertFromConsole(request, baseUrl);
    const client = clientOf(exchange);
    const value = (name: string) => state.form.get(name) ?? "";
    switch (value("grant_type")) {
      case "authorization_code":
        return answerBegun(response, await consoleSessions.beginWithCode(value("code"), value("code_verifier"), client), INVALID_CODE);
      case "link":
        return answerBegun(response, await consoleSessions.beginWithLink(value("secret"), client), INVALID_LINK);
      case "refresh_token":
        return renew(exchange);
      default:
        throw new SignInRefusal(400, UNKNOWN_GRANT);
    }
  }

  async function end({ request, response }: SignInExchange): Promise<void> {
    assertFromConsole(request, baseUrl);
    const secret = cookie.read(request);
    if (secret !== undefined) await consoleSessions.end(secret);
    response.setHeader("set-cookie", cookie.removal());
    sendJson(response, 200, {});
  }

  function refuse({ response }: SignInExchange, error: unknown): void {
    const { status, message } = refusalFrom(error, log);
    sendJson(response, status, { error: status >= 500 ? "server_error" : "invalid_grant", error_description: message });
  }

  return [
    [SESSION_PATH, { method: "POST", serve, refuse }],
    [`${SESSION_PATH}/end`, { method: "POST", serve: end, refuse }],
  ];
}

/** Answers that carry an access token. */
function createTokenAnswers(cookie: Cookie, clock: Clock) {
  function sendToken(response: HttpResponse, { token, expiry }: IssuedToken): void {
    const expiresInSeconds = Math.floor((expiry.getTime() - clock.now().getTime()) / 1000);
    sendJson(response, 200, { access_token: token, token_type: "Bearer", expires_in: expiresInSeconds });
  }

  return {
    sendToken,
    /** Also sets the cookie of the session, or removes that of an earlier one. @throws SignInRefusal with the problem if none has begun */
    answerBegun(response: HttpResponse, begun: BegunSession | undefined, problem: string): void {
      if (begun === undefined) throw new SignInRefusal(400, problem);
      response.setHeader("set-cookie", begun.secret === undefined ? cookie.removal() : cookie.header(begun.secret));
      sendToken(response, begun.token);
    },
  };
}

/**
 * Browsers that send Sec-Fetch-Site say whether the page is of this origin. Without it, over unencrypted connections, they send the origin.
 * @throws SignInRefusal 403
 */
function assertFromConsole({ headers }: HttpRequest, baseUrl: string): void {
  const { "sec-fetch-site": site, origin, host, ":authority": authority = host } = headers;
  const isSameOrigin = site === undefined ? origin === baseUrl || origin === `http://${authority}` : site === "same-origin";
  if (headers[CONSOLE_HEADER] === undefined || !isSameOrigin) throw new SignInRefusal(403, "Only the console of this server may do this.");
}

function sendJson(response: HttpResponse, status: number, body: object): void {
  send(response, status, { type: "application/json", text: JSON.stringify(body) }, { "cache-control": "no-store", pragma: "no-cache" });
}
