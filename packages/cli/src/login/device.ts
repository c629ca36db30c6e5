/** Signs in with a code that the person types on another device (RFC 8628). */
import { setTimeout as sleep } from "node:timers/promises";
import type { Rest } from "@holt/client/rest";
import { exitStatus, Failure } from "../failure.ts";
import type { SignedIn, SignInOptions } from "./browser.ts";
import { exchangeLogin } from "./exchange-login.ts";

interface DeviceAuthorization {
  readonly device_code: string;
  readonly user_code: string;
  readonly verification_uri: string;
  readonly verification_uri_complete: string;
  readonly expires_in: number;
  readonly interval: number;
}

/** Needs no registration; the page shows it to the person. */
const CLIENT_ID = "holt-cli";
const SLOW_DOWN_SECONDS = 5;
/** The server does not answer at the moment, but may soon. */
const TRANSIENT = new Set(["UNAVAILABLE", "DEADLINE_EXCEEDED"]);

export async function signInOnDevice({ rest, signal }: SignInOptions): Promise<SignedIn> {
  const body = new URLSearchParams({ client_id: CLIENT_ID });
  const begun = (await rest.call({ method: "POST", path: "/oauth/device_authorization", body, signal })) as DeviceAuthorization;
  process.stderr.write(`Open ${begun.verification_uri} in a browser on any machine, and type the code\n\n  ${begun.user_code}\n\n`);
  process.stderr.write(`Or open ${begun.verification_uri_complete}\nWaiting for you to confirm ...\n`);
  return exchangeLogin(rest, await poll(rest, begun, signal));
}

async function poll(rest: Rest, { device_code, expires_in, interval }: DeviceAuthorization, signal: AbortSignal): Promise<string> {
  const grant = { client_id: CLIENT_ID, grant_type: "urn:ietf:params:oauth:grant-type:device_code", device_code };
  let pause = interval;
  for (let waited = 0; waited < expires_in; waited += pause) {
    await sleep(pause * 1000, undefined, { signal });
    try {
      const answer = await rest.call({ method: "POST", path: "/oauth/token", body: new URLSearchParams(grant), signal });
      return (answer as { id_token: string }).id_token;
    } catch (error) {
      const { reason, code = "", message } = error as { reason?: string; code?: string; message: string };
      if (reason === "slow_down") pause += SLOW_DOWN_SECONDS;
      else if (TRANSIENT.has(code)) pause *= 2;
      else if (reason !== "authorization_pending") throw new Failure(message, { status: exitStatus.signedOut, cause: error });
    }
  }
  throw new Failure("nobody confirmed the sign-in in time", { advice: "run the command again", status: exitStatus.signedOut });
}
