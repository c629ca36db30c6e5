/** What a URL must be that others give to be called later. Names are not resolved: each connection's address is checked when it is made. */
import type { FieldViolation } from "../lib/errors.ts";
import { createAddressPolicy } from "./address.ts";

/** The scheme and the authority as they are written: WHATWG parsing would mend a good deal that is no URL. */
const WRITTEN = /^https?:\/\/([^/\\?#\s\p{Cc}]+)(?:[/?#][^\\\s\p{Cc}]*)?$/iu;
const MAX_LENGTH = 2048;

/**
 * @param field of the request, which violations name
 * @param allowCidrs the operator's networks: only what may be in them may be spoken to without TLS
 */
export function compileUrlCheck(field: string, allowCidrs: readonly string[]): (url: string) => FieldViolation[] {
  const policy = createAddressPolicy(allowCidrs);
  const mayBePlain = (host: string) => (isName(host) ? allowCidrs.length > 0 : policy.isOperatorAllowed(unbracketed(host)));
  return (url) => {
    const fault = faultOf(url, mayBePlain);
    return fault === undefined ? [] : [{ field, description: `${field} must be a valid https URL${fault}` }];
  };
}

/** What to say after "must be a valid https URL"; undefined where it is one. */
function faultOf(text: string, mayBePlain: (host: string) => boolean): string | undefined {
  if (text.length > MAX_LENGTH) return ` of at most ${MAX_LENGTH} characters`;
  const [, authority = ""] = WRITTEN.exec(text) ?? [];
  if (authority === "" || !URL.canParse(text)) return "";
  // A password would be shown to everybody who may list what has the URL.
  if (authority.includes("@")) return " without a user name or password";
  const { protocol, hostname } = new URL(text);
  if (protocol === "https:" || mayBePlain(hostname)) return undefined;
  return "; http is for addresses in HOLT_OUTBOUND_ALLOW_CIDRS, which this server's operator sets";
}

/** A URL's parser has brought every spelling of an IPv4 address into the one of four decimal numbers. */
function isName(host: string): boolean {
  return !host.startsWith("[") && !/^[\d.]+$/.test(host);
}

function unbracketed(host: string): string {
  return host.startsWith("[") ? host.slice(1, -1) : host;
}
