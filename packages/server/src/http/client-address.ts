/** Finds the address of the client that sent a request through reverse proxies. Pure. */
import type { IncomingHttpHeaders } from "node:http";
import { isIP } from "node:net";
import type { IsProxy } from "./proxy-addresses.ts";

/** Proxies in a row. A longer list is not read to its end. */
const MAX_HOPS = 32;

/**
 * The right-most address of X-Forwarded-For that is not a trusted proxy: each proxy appends the address of its client, so everything
 * further left is the claim of that client (RFC 7239 §8.1). If all addresses are trusted, it is the left-most.
 * @param peer remote address of the connection
 * @returns `peer` if it is not a trusted proxy, or if the header is missing or malformed
 */
export function clientAddress(peer: string, headers: IncomingHttpHeaders, isProxy: IsProxy): string {
  const forwarded = headers["x-forwarded-for"];
  if (forwarded === undefined || !isProxy(peer)) return peer;
  let last: string | undefined;
  for (const node of lastNodes(String(forwarded))) {
    last = addressOfNode(node);
    if (last === undefined) return peer;
    if (!isProxy(last)) return last;
  }
  return last ?? peer;
}

/** From right to left. Node joins repeated headers with commas. */
function lastNodes(forwarded: string): string[] {
  return forwarded.split(",").slice(-MAX_HOPS).reverse();
}

const BRACKETED = /^\[([^\]]*)\](?::\d{1,5})?$/;
const WITH_PORT = /^([\d.]+):\d{1,5}$/;

/** Some proxies append the port, and write IPv6 in brackets or in quotes (RFC 7239 §6). */
function addressOfNode(node: string): string | undefined {
  const text = node.trim().replace(/^"(.*)"$/, "$1");
  const address = (BRACKETED.exec(text) ?? WITH_PORT.exec(text))?.[1] ?? text;
  return isIP(address) === 0 || address.includes("%") ? undefined : address;
}
