/** The endpoints of the device grant (RFC 8628 §3.1, §3.4), which take forms and answer JSON. */
import { type HttpResponse, send } from "../../http/http-exchange.ts";
import { Code, HoltError } from "../../lib/errors.ts";
import type { Log } from "../../lib/log.ts";
import type { DeviceGrant } from "../device-grant.ts";
import { refusalFrom, SignInRefusal } from "../refusal.ts";
import { clientOf, type Endpoint, type SignInExchange } from "./sign-in-exchange.ts";

export interface DeviceEndpointsOptions {
  readonly deviceGrant: DeviceGrant;
  readonly log: Log;
  readonly baseUrl: string;
}

const DEVICE_GRANT = "urn:ietf:params:oauth:grant-type:device_code";
/** RFC 8628 §3.4. Clients have no secret, so they name themselves. */
const POLL_PARAMETERS = ["grant_type", "device_code", "client_id"];
const INVALID_CLIENT_ID =
  "client_id must be up to 64 letters, digits, dots, hyphens or underscores, and must not be an audience of this server";
const DESCRIPTIONS: Readonly<Record<string, string>> = {
  authorization_pending: "the person has not signed in yet; ask again",
  slow_down: "ask less often: wait five seconds longer each time",
  access_denied: "the person refused, or may not sign in any more",
  expired_token: "the device code has expired, was used, or is not known; begin again",
};

/** @returns the endpoints by path */
export function createDeviceEndpoints({ deviceGrant, log, baseUrl }: DeviceEndpointsOptions): readonly (readonly [string, Endpoint])[] {
  async function authorize({ response, remoteAddress, state: { form } }: SignInExchange): Promise<void> {
    assertOnceEach(form);
    const device = await deviceGrant.authorize(form.get("client_id") ?? "", remoteAddress);
    if (device === undefined) return sendOAuthError(response, 400, "invalid_client", INVALID_CLIENT_ID);
    sendJson(response, 200, {
      device_code: device.deviceCode,
      user_code: device.userCode,
      verification_uri: `${baseUrl}/oauth/device`,
      verification_uri_complete: `${baseUrl}/oauth/device?user_code=${device.userCode}`,
      expires_in: device.expiresInSeconds,
      interval: device.intervalSeconds,
    });
  }

  async function poll(exchange: SignInExchange): Promise<void> {
    const {
      response,
      state: { form },
    } = exchange;
    assertOnceEach(form);
    const [grantType = "", deviceCode = "", clientId = ""] = POLL_PARAMETERS.map((name) => form.get(name) ?? "");
    if (grantType !== "" && grantType !== DEVICE_GRANT)
      return sendOAuthError(response, 400, "unsupported_grant_type", `grant_type must be ${DEVICE_GRANT}`);
    const missing = POLL_PARAMETERS.find((name) => !form.get(name));
    if (missing !== undefined) return sendOAuthError(response, 400, "invalid_request", `${missing} is required`);
    const tokens = await deviceGrant.poll(deviceCode, clientId, clientOf(exchange));
    if (typeof tokens === "string") return sendOAuthError(response, 400, tokens, DESCRIPTIONS[tokens] ?? "");
    sendJson(response, 200, {
      access_token: tokens.accessToken,
      token_type: "Bearer",
      expires_in: tokens.expiresInSeconds,
      id_token: tokens.idToken,
    });
  }

  function refuse({ response }: SignInExchange, error: unknown): void {
    if (error instanceof HoltError && error.code === Code.UNAUTHENTICATED) {
      sendOAuthError(response, 400, "access_denied", DESCRIPTIONS.access_denied ?? "");
    } else {
      const { status, message } = refusalFrom(error, log);
      sendOAuthError(response, status, status >= 500 || status === 429 ? "temporarily_unavailable" : "invalid_request", message);
    }
  }

  return [
    ["/oauth/device_authorization", { method: "POST", serve: authorize, refuse }],
    ["/oauth/token", { method: "POST", serve: poll, refuse }],
  ];
}

/** RFC 6749 §3.2: other servers may take the last of two values, or both. @throws SignInRefusal */
function assertOnceEach(form: URLSearchParams): void {
  const seen = new Set<string>();
  for (const name of form.keys()) {
    if (seen.has(name)) throw new SignInRefusal(400, `${name.slice(0, 64)} must be given once`);
    seen.add(name);
  }
}

/** RFC 6749 §5.2. */
function sendOAuthError(response: HttpResponse, status: number, error: string, description: string): void {
  sendJson(response, status, { error, error_description: description });
}

/** RFC 6749 §5.1. */
function sendJson(response: HttpResponse, status: number, body: object): void {
  send(response, status, { type: "application/json", text: JSON.stringify(body) }, { "cache-control": "no-store", pragma: "no-cache" });
}
