/** Parses the HTTP/1.1 request in an AWS proof. Rejects every request that AWS could parse differently. Pure. */
import { unauthenticated } from "../../lib/errors.ts";

export interface ParsedRequest {
  /** Path and query. */
  readonly target: string;
  /** Keyed by lower-case name. No name occurs twice. */
  readonly headers: ReadonlyMap<string, string>;
  readonly signedHeaders: ReadonlySet<string>;
}

const MAX_PROOF_LENGTH = 16 * 1024;
const REQUEST_LINE = /^POST (?:https:\/\/([^/?# ]+))?(\/?\?[^ #]*) HTTP\/1\.1$/;
/** RFC 9110 §5.1 and §5.5: a token, a colon, printable ASCII without line folding. */
const HEADER = /^([!#$%&'*+.^_`|~0-9A-Za-z-]+):[ \t]*([\x20-\x7e]*?)[ \t]*$/;
const AUTHORIZATION =
  /^AWS4-HMAC-SHA256 Credential=[^,\s]+\/\d{8}\/[a-z0-9-]+\/sts\/aws4_request, ?SignedHeaders=([a-z0-9;-]+), ?Signature=[0-9a-f]{64}$/;

/**
 * @param hosts hosts that answer GetCallerIdentity
 * @throws UNAUTHENTICATED
 */
export function parseProof(proof: string, hosts: ReadonlySet<string>): ParsedRequest {
  const [head = "", body = ""] = splitOnce(decodeProof(proof), "\r\n\r\n");
  const [requestLine = "", ...lines] = head.split("\r\n");
  const [, authority, query = ""] = REQUEST_LINE.exec(requestLine) ?? [];
  const headers = parseHeaders(lines);
  const host = headers.get("host") ?? authority ?? "";
  const isCallerIdentity = isCallerIdentityQuery(query) && body === "" && !headers.has("transfer-encoding");
  if (!isCallerIdentity || !hosts.has(host) || (authority !== undefined && authority !== host)) throw malformedProof();
  const signed = AUTHORIZATION.exec(headers.get("authorization") ?? "")?.[1];
  if (signed === undefined) throw malformedProof();
  return {
    target: query.startsWith("/") ? query : `/${query}`,
    headers: new Map([...headers, ["host", host]]),
    signedHeaders: new Set(signed.split(";")),
  };
}

/** Clients send base64url; documented command lines send base64. */
function decodeProof(proof: string): string {
  const text = proof.replaceAll("-", "+").replaceAll("_", "/").replace(/=+$/, "");
  const bytes = Buffer.from(text, "base64");
  if (proof.length > MAX_PROOF_LENGTH || bytes.length === 0 || bytes.toString("base64").replace(/=+$/, "") !== text)
    throw unauthenticated("the AWS proof is not base64");
  return bytes.toString("latin1");
}

function parseHeaders(lines: readonly string[]): Map<string, string> {
  const headers = new Map<string, string>();
  for (const line of lines) {
    const [, name, value] = HEADER.exec(line) ?? [];
    if (name === undefined || value === undefined || headers.has(name.toLowerCase())) throw malformedProof();
    headers.set(name.toLowerCase(), value);
  }
  return headers;
}

/** Exactly these two parameters, once each: any other parameter could change what AWS does. */
function isCallerIdentityQuery(target: string): boolean {
  const parameters = target
    .replace(/^\/?\?/, "")
    .split("&")
    .sort();
  return parameters.length === 2 && parameters[0] === "Action=GetCallerIdentity" && parameters[1] === "Version=2011-06-15";
}

function splitOnce(text: string, separator: string): string[] {
  const at = text.indexOf(separator);
  return at < 0 ? [text] : [text.slice(0, at), text.slice(at + separator.length)];
}

function malformedProof(): Error {
  return unauthenticated("the token is neither a signed token nor a well-formed AWS caller-identity request");
}
