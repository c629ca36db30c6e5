/** Parses JSON Web Tokens strictly. Nothing is verified here; signatures are checked in verify-token.ts. Pure. */
import { isCleanText } from "../../lib/clean-text.ts";
import { unauthenticated } from "../../lib/errors.ts";
import { isRecord } from "../../lib/is-record.ts";
import { parseStrictJson } from "../../lib/strict-json.ts";
import { MAX_ISSUER_LENGTH } from "./issuer-url.ts";

/** Claims of a token. Read them with `claimOf`, since their names are untrusted and may be "constructor". */
export type Claims = Readonly<Record<string, unknown>>;

export interface ParsedJwt {
  /** The token itself, in JWS compact serialization. */
  readonly compact: string;
  readonly algorithm: string;
  readonly kid: string | undefined;
  readonly claims: Claims;
  /** `iss`, as `normalizeIssuer` returns it. */
  readonly issuer: string;
}

const MAX_TOKEN_LENGTH = 16 * 1024;
/** RFC 8725 §3.11: logout tokens, security events and other types do not prove an identity. */
const ACCEPTED_TYPES = new Set(["jwt", "at+jwt"]);
const utf8 = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });

/**
 * Verifies nothing.
 * @throws UNAUTHENTICATED if `compact` is not a signed JWT with an issuer
 */
export function parseJwt(compact: string): ParsedJwt {
  if (compact.length > MAX_TOKEN_LENGTH) throw invalidToken("too long");
  const parts = compact.split(".");
  const [header = "", payload = "", signature = ""] = parts;
  if (parts.length !== 3 || signature === "") throw invalidToken("not a JWT, which has three parts separated by dots");
  decodeBase64url(signature);
  const { algorithm, kid } = parseHeader(header);
  const claims = parseObject(payload);
  const issuer = claimOf(claims, "iss");
  if (typeof issuer !== "string" || issuer === "" || !isCleanText(issuer)) throw invalidToken("no issuer");
  if (issuer.length > MAX_ISSUER_LENGTH) throw invalidToken("the issuer is too long");
  return { compact, algorithm, kid, claims, issuer: normalizeIssuer(issuer) };
}

/**
 * Ignores members that carry or point to a key (`jwk`, `jku`, `x5c`, `x5u`): RFC 8725 §3.10. Rejects `crit`: RFC 7515
 * §4.1.11.
 */
function parseHeader(part: string): { algorithm: string; kid: string | undefined } {
  const header = parseObject(part);
  const { alg: algorithm, kid, typ = "JWT" } = header;
  if (Object.hasOwn(header, "crit")) throw invalidToken("critical header members are not supported");
  if (typeof algorithm !== "string") throw invalidToken("no algorithm");
  if (kid !== undefined && typeof kid !== "string") throw invalidToken("the key ID is not a string");
  if (typeof typ !== "string" || !ACCEPTED_TYPES.has(typ.toLowerCase().replace(/^application\//, "")))
    throw invalidToken("not an identity or access token");
  return { algorithm, kid };
}

function parseObject(part: string): Record<string, unknown> {
  const bytes = decodeBase64url(part);
  try {
    const value = parseStrictJson(utf8.decode(bytes));
    if (isRecord(value)) return value;
  } catch (error) {
    throw invalidToken("not strict JSON", error);
  }
  throw invalidToken("not a JSON object");
}

/** Accepts only the canonical encoding: no padding, no white space, no stray bits (RFC 7515 §2). */
function decodeBase64url(part: string): Buffer {
  const bytes = Buffer.from(part, "base64url");
  if (bytes.toString("base64url") !== part) throw invalidToken("not base64url");
  return bytes;
}

/** Google issues tokens with and without the scheme in `iss`. No other issuer has two names. */
export function normalizeIssuer(issuer: string): string {
  return issuer === "accounts.google.com" ? "https://accounts.google.com" : issuer;
}

export function claimOf(claims: Claims, name: string): unknown {
  return Object.hasOwn(claims, name) ? claims[name] : undefined;
}

/** A claim that is a string; undefined if it is missing or has another type. */
export function stringClaim(claims: Claims, name: string): string | undefined {
  const value = claimOf(claims, name);
  return typeof value === "string" ? value : undefined;
}

/** Values of `aud`, which is a string or a list (RFC 7519 §4.1.3). */
export function audiencesOf(claims: Claims): string[] {
  const value = claimOf(claims, "aud");
  return (Array.isArray(value) ? value : [value]).filter((audience) => typeof audience === "string");
}

/**
 * The audience that a client may accept an ID token by as its own ID. If there are several audiences, only the one that
 * the token was issued to, which `azp` names (OpenID Connect Core §3.1.3.7). The others merely may read it.
 */
export function clientAudienceOf(claims: Claims): string | undefined {
  const audiences = [...new Set(audiencesOf(claims))];
  return audiences.length < 2 ? audiences[0] : audiences.find((audience) => audience === claimOf(claims, "azp"));
}

export function invalidToken(why: string, cause?: unknown): Error {
  return unauthenticated(`the token is not acceptable: ${why}`, cause === undefined ? undefined : { cause });
}
