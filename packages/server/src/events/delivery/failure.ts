/** Says why an attempt failed, for the owner of the subscription. Pure. */
import { OutboundError } from "../../outbound/error.ts";
import { failureText } from "../../outbound/failure-text.ts";
import type { Result } from "./retry.ts";

export function failureOf(error: unknown): Result {
  if (!(error instanceof OutboundError)) return { status: 0, error: "the request could not be made", retryAfterMs: 0 };
  return { status: error.status ?? 0, error: failureText(error, "the sink"), retryAfterMs: 0 };
}
