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
/** RFC 9110 §5.1 and §5.5: a token, then after a colon printable ASCII without line folding. */
const HEADER_NAME = /^[!#$%&'*+.^_`|~0-9A-Za-z-]+$/;
const HEADER_VALUE = /^[\x20-\x7e]*$/;
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
  if (proof.length > MAX_PROOF_LENGTH) throw notBase64();
  const [text = "", ...padding] = proof.replaceAll("-", "+").replaceAll("_", "/").split("=");
  const bytes = Buffer.from(text, "base64");
  if (padding.some((rest) => rest !== "") || bytes.length === 0 || bytes.toString("base64").split("=", 1)[0] !== text) throw notBase64();
  return bytes.toString("latin1");
}

function parseHeaders(lines: readonly string[]): Map<string, string> {
  const headers = new Map<string, string>();
  for (const line of lines) {
    const colon = line.indexOf(":");
    const name = line.slice(0, Math.max(colon, 0)).toLowerCase();
    const value = trimBlanks(line.slice(colon + 1));
    if (!HEADER_NAME.test(name) || !HEADER_VALUE.test(value) || headers.has(name)) throw malformedProof();
    headers.set(name, value);
  }
  return headers;
}

/** Removes spaces and tabs at both ends. A regular expression would try each length of each end. */
function trimBlanks(text: string): string {
  const isBlank = (at: number) => text[at] === " " || text[at] === "\t";
  let start = 0;
  let end = text.length;
  while (start < end && isBlank(start)) start++;
  while (end > start && isBlank(end - 1)) end--;
  return text.slice(start, end);
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

function notBase64(): Error {
  return unauthenticated("the AWS proof is not base64");
}

function malformedProof(): Error {
  return unauthenticated("the token is neither a signed token nor a well-formed AWS caller-identity request");
}
