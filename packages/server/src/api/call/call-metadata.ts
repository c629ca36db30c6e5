/** Reads the metadata of a call from the headers of its request. */
import { randomUUID } from "node:crypto";
import type { IncomingHttpHeaders } from "node:http";
import type { CallMetadata } from "./call.ts";

export type CallOrigin = Pick<CallMetadata, "protocol" | "remoteAddress" | "alias" | "signal" | "identify" | "collect">;

export function metadataFromHeaders(headers: IncomingHttpHeaders, origin: CallOrigin): CallMetadata {
  return {
    ...origin,
    authorization: headers.authorization,
    requestId: requestIdOf(headers),
    clientId: clientText(headers.cgclientid),
    userAgent: clientText(headers["user-agent"]),
    traceHeaders: headers,
  };
}

const REQUEST_ID = /^[!-~]{1,64}$/;

/** The client's own id if it is safe in a header and a log line, else a new one. */
export function requestIdOf(headers: IncomingHttpHeaders): string {
  const given = headers.cgrequestid ?? headers["x-request-id"];
  return typeof given === "string" && REQUEST_ID.test(given) ? given : randomUUID();
}

/** Characters of a client's text in a log line. */
const MAX_TEXT = 256;

export function clientText(value: string | string[] | undefined): string | undefined {
  const text = Array.isArray(value) ? value[0] : value;
  return text === undefined || text === "" ? undefined : text.slice(0, MAX_TEXT);
}
