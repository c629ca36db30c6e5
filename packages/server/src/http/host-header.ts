/**
 * Refuses requests that name several hosts, or something else than a host. Programs in front of this server and the server
 * itself could each read another one. Pure.
 */
import type { IncomingMessage } from "node:http";
import type { IncomingHttpHeaders } from "node:http2";

/** RFC 9112 §3.2: exactly one `Host`, which is valid; HTTP/1.0 has none or one. */
export function hasOneHost({ headers: { host = "" }, rawHeaders, httpVersion }: IncomingMessage): boolean {
  let count = 0;
  for (let index = 0; index < rawHeaders.length; index += 2) if (isHost(rawHeaders[index] as string)) count++;
  return (count === 1 || (count === 0 && httpVersion === "1.0")) && HOST.test(host);
}

/** A name, an IPv4 address or an IPv6 address in brackets, and a port (RFC 9110 §7.2, RFC 3986 §3.2). Empty for a URL without a host. */
const HOST = /^(?:\[[\w.:%~-]+\]|(?:[\w.~!$&'()*+,;=-]|%[\da-f]{2})*)(?::\d*)?$/i;

function isHost(name: string): boolean {
  return name.length === 4 && name.toLowerCase() === "host";
}

/** RFC 9113 §8.3.1: a `host` must not differ from `:authority`. nghttp2 refuses repetitions of each. */
export function namesOneHost({ ":authority": authority, host }: IncomingHttpHeaders): boolean {
  return authority === undefined || host === undefined || authority.toLowerCase() === host.toLowerCase();
}
