/**
 * Describes why an outbound request failed, for the person who configured its URL. It reveals neither the response nor
 * this server's network. Pure.
 */
import type { OutboundError } from "./error.ts";

/** @param peer name of the remote server in the sentence, e.g. "the sink" */
export function failureText({ reason, cause, message, status }: OutboundError, peer: string): string {
  if (reason === "timeout") return `${peer} did not answer in time`;
  if (reason === "redirect") return `${peer} answered with a redirect (status ${status}), which is not followed`;
  if (reason === "connect") return connectionFailure(codeOf(cause), peer);
  return message;
}

const KNOWN: Readonly<Record<string, string>> = {
  ECONNREFUSED: "refused the connection",
  ECONNRESET: "closed the connection before it had answered",
  EPIPE: "closed the connection before it had answered",
  UND_ERR_SOCKET: "closed the connection before it had answered",
  ETIMEDOUT: "did not accept a connection in time",
  UND_ERR_CONNECT_TIMEOUT: "did not accept a connection in time",
};
const KNOWN_OF: Readonly<Record<string, (whose: string) => string>> = {
  EHOSTUNREACH: (whose) => `${whose} network cannot be reached`,
  ENETUNREACH: (whose) => `${whose} network cannot be reached`,
  UND_ERR_HEADERS_OVERFLOW: (whose) => `the headers of ${whose} answer are too large`,
  UND_ERR_RES_CONTENT_LENGTH_MISMATCH: (whose) => `the Content-Length of ${whose} answer is wrong`,
  // The parser asserts that a status is at least 100.
  ERR_ASSERTION: (whose) => `${whose} answer is not HTTP`,
  CERT_HAS_EXPIRED: (whose) => `${whose} certificate has expired`,
  ERR_TLS_CERT_ALTNAME_INVALID: (whose) => `${whose} certificate is for another name`,
};

function connectionFailure(code: string, peer: string): string {
  const known = KNOWN[code];
  const knownOf = KNOWN_OF[code];
  if (known !== undefined) return `${peer} ${known}`;
  if (knownOf !== undefined) return knownOf(`${peer}'s`);
  if (code.startsWith("HPE")) return `${peer}'s answer is not HTTP`;
  if (/CERT|SIGNATURE|ISSUER|ERR_SSL|ERR_TLS|EPROTO/.test(code)) return `no TLS connection with ${peer} (${code})`;
  return `${peer} cannot be reached${code === "" ? "" : ` (${code})`}`;
}

/**
 * The first system code in the chain of causes, at most four levels deep; of an AggregateError, the first error counts.
 */
function codeOf(error: unknown, depth = 0): string {
  if (!(error instanceof Error) || depth > 3) return "";
  // undici gives only some of its parser errors a code.
  if (error.name === "HTTPParserError") return "HPE";
  const { code } = error as { code?: unknown };
  if (typeof code === "string" && /^[A-Z0-9_]{1,60}$/.test(code)) return code;
  return codeOf(error instanceof AggregateError ? error.errors[0] : error.cause, depth + 1);
}
