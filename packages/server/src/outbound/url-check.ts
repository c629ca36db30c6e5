/**
 * Validates URLs that callers configure for later requests. Names are not resolved here: client.ts checks each
 * connection.
 */
import type { FieldViolation } from "../lib/errors.ts";
import { createAddressPolicy } from "./address.ts";

/** Matches the raw text, whose group is the authority: the WHATWG parser would repair many malformed URLs. */
const RAW_URL = /^https?:\/\/([^/\\?#\s\p{Cc}]+)(?:[/?#][^\\\s\p{Cc}]*)?$/iu;
const MAX_LENGTH = 2048;

/**
 * @param field name of the request's field in violations
 * @param allowCidrs the operator's networks; plain http is allowed only for hosts that may be in them
 */
export function compileUrlCheck(field: string, allowCidrs: readonly string[]): (url: string) => FieldViolation[] {
  const policy = createAddressPolicy(allowCidrs);
  const mayBePlain = (host: string) => (isName(host) ? allowCidrs.length > 0 : policy.isOperatorAllowed(unbracketed(host)));
  return compileCheck(field, "https", mayBePlain);
}

/** Accepts plain http for every host. Requests to such a URL fail unless client.ts allows its address. */
export function compilePlainUrlCheck(field: string): (url: string) => FieldViolation[] {
  return compileCheck(field, "http or https", () => true);
}

function compileCheck(field: string, schemes: string, mayBePlain: (host: string) => boolean): (url: string) => FieldViolation[] {
  return (url) => {
    const fault = faultOf(url, mayBePlain);
    return fault === undefined ? [] : [{ field, description: `${field} must be a valid ${schemes} URL${fault}` }];
  };
}

/** The continuation of "must be a valid URL"; undefined for a valid URL. */
function faultOf(text: string, mayBePlain: (host: string) => boolean): string | undefined {
  if (text.length > MAX_LENGTH) return ` of at most ${MAX_LENGTH} characters`;
  const [, authority = ""] = RAW_URL.exec(text) ?? [];
  if (authority === "" || !URL.canParse(text)) return "";
  // Every caller who may list the resource would see the password.
  if (authority.includes("@")) return " without a user name or password";
  const { protocol, hostname } = new URL(text);
  if (protocol === "https:" || mayBePlain(hostname)) return undefined;
  return "; http is allowed only for addresses in HOLT_OUTBOUND_ALLOW_CIDRS, which the operator of this server sets";
}

/** `new URL` has normalized IPv4 addresses to four decimal numbers. */
function isName(host: string): boolean {
  return !host.startsWith("[") && !/^[\d.]+$/.test(host);
}

function unbracketed(host: string): string {
  return host.startsWith("[") ? host.slice(1, -1) : host;
}
