/** Why an attempt failed, in words for the owner of the subscription. Never anything that the sink sent, and nothing of this server's network. Pure. */
import { OutboundError } from "../outbound/error.ts";
import type { Result } from "./retry.ts";

export function failureOf(error: unknown): Result {
  if (!(error instanceof OutboundError)) return { status: 0, error: "the request could not be made", retryAfterMs: 0 };
  return { status: error.status ?? 0, error: textOf(error), retryAfterMs: 0 };
}

function textOf({ reason, cause, message, status }: OutboundError): string {
  if (reason === "timeout") return "the sink did not answer in time";
  if (reason === "redirect") return `the sink answered with a redirect (status ${status}), which is not followed`;
  if (reason === "connect") return connectionFailure(codeOf(cause));
  return message;
}

const KNOWN: Readonly<Record<string, string>> = {
  ECONNREFUSED: "the sink refused the connection",
  ECONNRESET: "the sink closed the connection before it had answered",
  EPIPE: "the sink closed the connection before it had answered",
  UND_ERR_SOCKET: "the sink closed the connection before it had answered",
  ETIMEDOUT: "the sink did not accept a connection in time",
  UND_ERR_CONNECT_TIMEOUT: "the sink did not accept a connection in time",
  EHOSTUNREACH: "the sink's network cannot be reached",
  ENETUNREACH: "the sink's network cannot be reached",
  UND_ERR_HEADERS_OVERFLOW: "the headers of the sink's answer are too large",
  CERT_HAS_EXPIRED: "the sink's certificate has expired",
  ERR_TLS_CERT_ALTNAME_INVALID: "the sink's certificate is for another name",
};

function connectionFailure(code: string): string {
  const known = KNOWN[code];
  if (known !== undefined) return known;
  if (code.startsWith("HPE")) return "the sink's answer is not HTTP";
  if (/CERT|SIGNATURE|ISSUER|ERR_SSL|ERR_TLS|EPROTO/.test(code)) return `no TLS connection with the sink (${code})`;
  return `the sink cannot be reached${code === "" ? "" : ` (${code})`}`;
}

/** A few levels deep; of several errors (one for each address) the first. */
function codeOf(error: unknown, depth = 0): string {
  if (!(error instanceof Error) || depth > 3) return "";
  // undici knows a code for some of these errors only.
  if (error.name === "HTTPParserError") return "HPE";
  const { code } = error as { code?: unknown };
  if (typeof code === "string" && /^[A-Z0-9_]{1,60}$/.test(code)) return code;
  return codeOf(error instanceof AggregateError ? error.errors[0] : error.cause, depth + 1);
}
