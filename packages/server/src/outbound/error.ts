/** Why an outbound request failed. Its text names the host and never holds anything the other side sent. */

/**
 * `url`, `scheme`, `address`: refused by rule, nothing was sent. `dns`, `connect`, `timeout`: the other side could not be reached in time.
 * `redirect`, `status`, `too_large`, `body`: it answered with what is not accepted. `aborted`: the caller gave up.
 */
export type OutboundReason =
  | "url"
  | "scheme"
  | "address"
  | "dns"
  | "connect"
  | "timeout"
  | "redirect"
  | "status"
  | "too_large"
  | "body"
  | "aborted";

export class OutboundError extends Error {
  override readonly name = "OutboundError";
  readonly reason: OutboundReason;
  /** HTTP status of the answer, where there was one. */
  readonly status: number | undefined;
  constructor(reason: OutboundReason, message: string, options: ErrorOptions & { status?: number } = {}) {
    super(message, options);
    this.reason = reason;
    this.status = options.status;
  }

  /** Whether another try may go better: the fault lies with the network or with a server that is in trouble. */
  get isTransient(): boolean {
    return (
      ["dns", "connect", "timeout", "aborted"].includes(this.reason) ||
      (this.status !== undefined && (this.status >= 500 || this.status === 429))
    );
  }
}
