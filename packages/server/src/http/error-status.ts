/** The HTTP status of each error, for REST and for every other protocol over HTTP. */
import { Code, type HoltError } from "../lib/errors.ts";
import { MessageTooLargeError } from "./request-memory.ts";

/** google/rpc/code.proto, "HTTP Mapping". FAILED_PRECONDITION is 400, because 412 is for conditional requests. */
const HTTP_STATUS: Readonly<Record<Code, number>> = {
  [Code.CANCELLED]: 499,
  [Code.UNKNOWN]: 500,
  [Code.INVALID_ARGUMENT]: 400,
  [Code.DEADLINE_EXCEEDED]: 504,
  [Code.NOT_FOUND]: 404,
  [Code.ALREADY_EXISTS]: 409,
  [Code.PERMISSION_DENIED]: 403,
  [Code.RESOURCE_EXHAUSTED]: 429,
  [Code.FAILED_PRECONDITION]: 400,
  [Code.ABORTED]: 409,
  [Code.OUT_OF_RANGE]: 400,
  [Code.UNIMPLEMENTED]: 501,
  [Code.INTERNAL]: 500,
  [Code.UNAVAILABLE]: 503,
  [Code.DATA_LOSS]: 500,
  [Code.UNAUTHENTICATED]: 401,
};

/** The statuses in which a protocol deviates from the table. They stand beside the protocol's error bodies, with the reason. */
export type StatusOverrides = Readonly<Partial<Record<Code, number>>>;

export function httpStatusOf(error: HoltError, overrides: StatusOverrides = {}): number {
  // 429 would ask the client to send the message again (RFC 9110 §15.5.14).
  if (error instanceof MessageTooLargeError) return 413;
  return overrides[error.code] ?? HTTP_STATUS[error.code];
}

/** Whether the status says that the server is at fault. The response then hides the error's text, and the log has it. */
export function isServerFault(status: number): boolean {
  return status >= 500 && status !== 503;
}
