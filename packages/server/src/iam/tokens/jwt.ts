/** A JSON Web Token taken apart, strictly and without believing any of it: signatures are verify-token.ts. Pure. */
import { unauthenticated } from "../../lib/errors.ts";
import { parseStrictJson } from "../../lib/strict-json.ts";
import { MAX_ISSUER_LENGTH } from "./issuer-url.ts";
import { isRecord } from "./jwk-set.ts";

/** Claims of a token; read them with `claimOf`, since names are strangers' text. */
export type Claims = Readonly<Record<string, unknown>>;

export interface ParsedJwt {
  readonly text: string;
  readonly algorithm: string;
  readonly kid: string | undefined;
  readonly claims: Claims;
  /** `iss`, normalised. */
  readonly issuer: string;
}

const MAX_LENGTH = 16 * 1024;
/** RFC 8725 §3.11: a token that says it is something else (a logout token, a security event) is not a proof of identity. */
const TYPES = new Set(["jwt", "at+jwt"]);
const utf8 = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });

/** @throws UNAUTHENTICATED where the text is not a signed JWT with an issuer. Nothing of it is verified yet. */
export function parseJwt(text: string): ParsedJwt {
  if (text.length > MAX_LENGTH) throw malformed("too long");
  const parts = text.split(".");
  const [header = "", payload = "", signature = ""] = parts;
  if (parts.length !== 3 || signature === "") throw malformed("not three parts");
  decodeBase64url(signature);
  const { algorithm, kid } = parseHeader(header);
  const claims = parseObject(payload);
  const issuer = claimOf(claims, "iss");
  if (typeof issuer !== "string" || issuer === "" || !isCleanText(issuer)) throw malformed("no issuer");
  if (issuer.length > MAX_ISSUER_LENGTH) throw malformed("the issuer is too long");
  return { text, algorithm, kid, claims, issuer: normalizeIssuer(issuer) };
}

/** Members that carry a key or lead to one (`jwk`, `jku`, `x5c`, `x5u`) are not read: RFC 8725 §3.10. `crit` is: RFC 7515 §4.1.11. */
function parseHeader(part: string): { algorithm: string; kid: string | undefined } {
  const header = parseObject(part);
  const { alg: algorithm, kid, typ = "JWT" } = header;
  if (Object.hasOwn(header, "crit")) throw malformed("critical header members are not supported");
  if (typeof algorithm !== "string") throw malformed("no algorithm");
  if (kid !== undefined && typeof kid !== "string") throw malformed("the key id is not text");
  if (typeof typ !== "string" || !TYPES.has(typ.toLowerCase().replace(/^application\//, "")))
    throw malformed("not an identity or access token");
  return { algorithm, kid };
}

function parseObject(part: string): Record<string, unknown> {
  const bytes = decodeBase64url(part);
  try {
    const value = parseStrictJson(utf8.decode(bytes));
    if (isRecord(value)) return value;
  } catch (error) {
    throw malformed("not strict JSON", error);
  }
  throw malformed("not a JSON object");
}

/** Only the one encoding of some bytes is accepted: no padding, no white space, no stray bits (RFC 7515 §2). */
function decodeBase64url(part: string): Buffer {
  const bytes = Buffer.from(part, "base64url");
  if (bytes.toString("base64url") !== part) throw malformed("not base64url");
  return bytes;
}

/** Google signs with and without the scheme in its issuer; no other issuer has two names. */
export function normalizeIssuer(issuer: string): string {
  return issuer === "accounts.google.com" ? "https://accounts.google.com" : issuer;
}

export function claimOf(claims: Claims, name: string): unknown {
  return Object.hasOwn(claims, name) ? claims[name] : undefined;
}

/** A text claim; undefined where it is missing or something else. */
export function textClaim(claims: Claims, name: string): string | undefined {
  const value = claimOf(claims, name);
  return typeof value === "string" ? value : undefined;
}

/** The values of `aud`, which is a string or a list of them (RFC 7519 §4.1.3). */
export function audiencesOf(claims: Claims): string[] {
  const value = claimOf(claims, "aud");
  return (Array.isArray(value) ? value : [value]).filter((audience) => typeof audience === "string");
}

/** Issuers and subjects are joined into uids and written to logs: control characters and half surrogate pairs would make two of them look like one. */
export function isCleanText(text: string): boolean {
  // biome-ignore lint/suspicious/noControlCharactersInRegex: it is what is looked for
  return text.isWellFormed() && !/[\u0000-\u001f\u007f]/.test(text);
}

export function malformed(why: string, cause?: unknown): Error {
  return unauthenticated(`the token is not acceptable: ${why}`, cause === undefined ? undefined : { cause });
}
