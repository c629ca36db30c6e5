/** What a subscription may be posted to. Names are not resolved: each connection's address is checked when it is made. */
import type { FieldViolation } from "../../lib/errors.ts";
import { createAddressPolicy } from "../../outbound/address.ts";

/** The scheme and the authority as they are written: WHATWG parsing would mend a good deal that is no URL. */
const WRITTEN = /^https?:\/\/([^/\\?#\s\p{Cc}]+)(?:[/?#][^\\\s\p{Cc}]*)?$/iu;
const MAX_LENGTH = 2048;
const MUST = "sink must be a valid https URL";

/** @param allowCidrs the operator's networks: only what may be in them may be spoken to without TLS */
export function compileSinkCheck(allowCidrs: readonly string[]): (sink: string) => FieldViolation[] {
  const policy = createAddressPolicy(allowCidrs);
  const mayBePlain = (host: string) => (isName(host) ? allowCidrs.length > 0 : policy.isOperatorAllowed(unbracketed(host)));
  return (sink) => {
    const fault = faultOf(sink, mayBePlain);
    return fault === undefined ? [] : [{ field: "sink", description: fault }];
  };
}

function faultOf(sink: string, mayBePlain: (host: string) => boolean): string | undefined {
  if (sink.length > MAX_LENGTH) return `${MUST} of at most ${MAX_LENGTH} characters`;
  const [, authority = ""] = WRITTEN.exec(sink) ?? [];
  if (authority === "" || !URL.canParse(sink)) return MUST;
  // What is said to a sink is signed; a password would be shown to everybody who may list it.
  if (authority.includes("@")) return `${MUST} without a user name or password`;
  const { protocol, hostname } = new URL(sink);
  if (protocol === "https:" || mayBePlain(hostname)) return undefined;
  return `${MUST}; http is for addresses in HOLT_OUTBOUND_ALLOW_CIDRS, which this server's operator sets`;
}

/** A URL's parser has brought every spelling of an IPv4 address into the one of four decimal numbers. */
function isName(host: string): boolean {
  return !host.startsWith("[") && !/^[\d.]+$/.test(host);
}

function unbracketed(host: string): string {
  return host.startsWith("[") ? host.slice(1, -1) : host;
}
