/** The two endpoints of the device grant (RFC 8628 §3.1, §3.4) on the wire: forms in, JSON out. */

import { type HttpRequest, type HttpResponse, send } from "../../http/http-exchange.ts";
import type { RequestMemory } from "../../http/request-memory.ts";
import { Code, HoltError } from "../../lib/errors.ts";
import type { Log } from "../../lib/log.ts";
import type { DeviceGrant } from "../device-grant.ts";
import { refusalFrom } from "../refusal.ts";
import { readForm } from "./read-form.ts";

export interface DeviceEndpointsOptions {
  readonly deviceGrant: DeviceGrant;
  readonly memory: RequestMemory;
  readonly log: Log;
  readonly baseUrl: string;
}

export interface DeviceEndpoints {
  authorize(request: HttpRequest, response: HttpResponse): Promise<void>;
  token(request: HttpRequest, response: HttpResponse): Promise<void>;
}

const DEVICE_GRANT = "urn:ietf:params:oauth:grant-type:device_code";
const PROBLEMS: Readonly<Record<string, string>> = {
  authorization_pending: "the person has not signed in yet; ask again",
  slow_down: "ask less often: wait five seconds longer each time",
  access_denied: "the person refused, or may not sign in any more",
  expired_token: "the device code has expired, was used, or is not known; begin again",
};

export function createDeviceEndpoints({ deviceGrant, memory, log, baseUrl }: DeviceEndpointsOptions): DeviceEndpoints {
  /** RFC 6749 §5.2. */
  function refuse(response: HttpResponse, status: number, error: string, description = PROBLEMS[error] ?? ""): void {
    json(response, status, { error, error_description: description });
  }

  async function guarded(response: HttpResponse, work: () => Promise<void>): Promise<void> {
    try {
      await work();
    } catch (error) {
      if (error instanceof HoltError && error.code === Code.UNAUTHENTICATED) return refuse(response, 400, "access_denied");
      const { status, message } = refusalFrom(error, log);
      refuse(response, status, status >= 500 || status === 429 ? "temporarily_unavailable" : "invalid_request", message);
    }
  }

  return {
    authorize: (request, response) =>
      guarded(response, async () => {
        const form = await readForm(request, memory);
        const device = await deviceGrant.authorize(form.get("client_id") ?? "");
        if (device === undefined)
          return refuse(
            response,
            400,
            "invalid_client",
            "client_id must be up to 64 letters, digits, dots, hyphens or underscores, and no audience of this server",
          );
        json(response, 200, {
          device_code: device.deviceCode,
          user_code: device.userCode,
          verification_uri: `${baseUrl}/oauth/device`,
          verification_uri_complete: `${baseUrl}/oauth/device?user_code=${device.userCode}`,
          expires_in: device.expiresInSeconds,
          interval: device.intervalSeconds,
        });
      }),

    token: (request, response) =>
      guarded(response, async () => {
        const form = await readForm(request, memory);
        if (form.get("grant_type") !== DEVICE_GRANT)
          return refuse(response, 400, "unsupported_grant_type", `grant_type must be ${DEVICE_GRANT}`);
        const tokens = await deviceGrant.poll(form.get("device_code") ?? "", form.get("client_id") ?? "");
        if (typeof tokens === "string") return refuse(response, 400, tokens);
        json(response, 200, {
          access_token: tokens.accessToken,
          token_type: "Bearer",
          expires_in: tokens.expiresInSeconds,
          id_token: tokens.idToken,
        });
      }),
  };
}

/** RFC 6749 §5.1. */
function json(response: HttpResponse, status: number, body: object): void {
  send(response, status, "application/json", JSON.stringify(body), { "cache-control": "no-store", pragma: "no-cache" });
}
