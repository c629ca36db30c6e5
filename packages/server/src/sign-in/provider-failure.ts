/** Turns failures at an identity provider into refusals. */
import { AuthorizationResponseError } from "openid-client";
import { HoltError } from "../lib/errors.ts";
import type { Log } from "../lib/log.ts";
import { OutboundError } from "../outbound/error.ts";
import { SignInRefusal } from "./refusal.ts";

const MAX_QUOTED_LENGTH = 300;
const UNREACHABLE =
  "Your identity provider does not answer this server as it should, so nobody can sign in there now. " +
  "Try again in a minute; if the problem persists, tell its administrator.";

/** Logs failures between the servers, without codes and tokens, and shows the person a generic message. */
export async function refuseFailures<T>(issuer: string, log: Log, work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (error) {
    if (error instanceof SignInRefusal || error instanceof HoltError) throw error;
    if (error instanceof AuthorizationResponseError) throw deniedByProvider(error);
    log.warn({ issuer, reason: describeFailure(error) }, "an identity provider failed to sign a person in");
    throw new SignInRefusal(502, UNREACHABLE);
  }
}

export function describeFailure(error: unknown): string {
  for (let cause: unknown = error, depth = 0; cause instanceof Error && depth < 5; cause = cause.cause, depth++)
    if (cause instanceof OutboundError) return `${cause.reason}: ${cause.message}`;
  const { code, message } = error as { code?: unknown; message?: unknown };
  return `${String(code ?? "error")}: ${String(message)}`;
}

/** Shows the provider's own error message, since only its administrator can fix the cause. */
function deniedByProvider({ error, error_description: description }: AuthorizationResponseError): SignInRefusal {
  const message = (description ?? error).replace(/\s+/g, " ").slice(0, MAX_QUOTED_LENGTH);
  const isTemporary = error === "temporarily_unavailable" || error === "server_error";
  return new SignInRefusal(
    isTemporary ? 503 : 403,
    `Your identity provider did not sign you in. It says: “${message}”. Try again, or ask its administrator.`,
  );
}
