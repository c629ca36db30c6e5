/** The error of an outbound request. Its message names the host and never quotes the remote server. */

/**
 * `url`, `scheme`, `address`: a rule forbids the request, and nothing was sent. `dns`, `connect`, `timeout`: the server
 * could not be reached in time. `redirect`, `status`, `too_large`, `body`: the response is not acceptable. `aborted`:
 * the caller aborted the request.
 */
export const OUTBOUND_REASONS = [
  "url",
  "scheme",
  "address",
  "dns",
  "connect",
  "timeout",
  "redirect",
  "status",
  "too_large",
  "body",
  "aborted",
] as const;
export type OutboundReason = (typeof OUTBOUND_REASONS)[number];

export class OutboundError extends Error {
  override readonly name = "OutboundError";
  readonly reason: OutboundReason;
  /** HTTP status of the response, if there was one. */
  readonly status: number | undefined;
  constructor(reason: OutboundReason, message: string, options: ErrorOptions & { status?: number } = {}) {
    super(message, options);
    this.reason = reason;
    this.status = options.status;
  }

  /** Whether a retry may succeed: the network failed, or the server is overloaded or broken. */
  get isTransient(): boolean {
    return (
      ["dns", "connect", "timeout", "aborted"].includes(this.reason) ||
      (this.status !== undefined && (this.status >= 500 || this.status === 429))
    );
  }
}

/** @param error of sending a request or of reading its response */
export function asOutboundError(error: unknown, url: URL): OutboundError {
  // undici passes on the connector's error, directly or as a cause.
  if (error instanceof OutboundError) return error;
  if (error instanceof Error && error.cause instanceof OutboundError) return error.cause;
  return new OutboundError("connect", `${url.host} cannot be reached`, { cause: error });
}
