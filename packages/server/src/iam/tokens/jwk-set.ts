/**
 * Parses the public keys of a JWK set (RFC 7517) that can verify a signature. Skips every other key; never throws.
 * Pure.
 */
import { isRecord } from "../../lib/is-record.ts";
import { Lru } from "../../lib/lru.ts";

export interface VerificationKey {
  readonly kid: string | undefined;
  /** Set if the key is restricted to one algorithm. */
  readonly alg: string | undefined;
  readonly kty: "RSA" | "EC" | "OKP";
  readonly crv: string | undefined;
  /** The public members only. Always the same object for a key, since jose caches the imported key by it. */
  readonly jwk: Readonly<Record<string, string>>;
}

const MAX_KEYS = 64;
/** Characters of each member. A modulus of 8192 bits has 1366; other issuers' keys stay in memory for hours. */
const MAX_MEMBER_LENGTH = 2048;
const MEMBERS = { RSA: ["kty", "n", "e"], EC: ["kty", "crv", "x", "y"], OKP: ["kty", "crv", "x"] } as const;
const CURVES = new Set(["P-256", "P-384", "P-521", "Ed25519"]);
const BASE64URL = /^[A-Za-z0-9_-]+$/;

/** @param set a parsed JWK set; untrusted */
export function parseJwkSet(set: unknown): VerificationKey[] {
  const keys = isRecord(set) && Array.isArray(set.keys) ? set.keys.slice(0, MAX_KEYS) : [];
  return keys.map(parseJwk).filter((key) => key !== undefined);
}

/** Stored sets are used repeatedly, and importing a key costs more than verifying a signature with it. */
const parsedSets = new Lru<string, readonly VerificationKey[]>(1000);
const MAX_CACHED_LENGTH = 16 * 1024;

/** @param text the JWK set as stored; untrusted */
export function parseStoredJwkSet(text: string): readonly VerificationKey[] {
  const known = parsedSets.get(text);
  if (known !== undefined) return known;
  const keys = parseJwkSet(parseJson(text));
  if (text.length <= MAX_CACHED_LENGTH) parsedSets.set(text, keys);
  return keys;
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

function parseJwk(jwk: unknown): VerificationKey | undefined {
  if (!isRecord(jwk) || !isForVerifying(jwk) || !isShort(jwk)) return undefined;
  const kty = jwk.kty;
  if (kty !== "RSA" && kty !== "EC" && kty !== "OKP") return undefined;
  const members = MEMBERS[kty].map((name) => [name, jwk[name]] as const);
  if (!members.every((member): member is [(typeof member)[0], string] => typeof member[1] === "string" && member[1] !== ""))
    return undefined;
  const key: VerificationKey = {
    kid: optionalString(jwk.kid),
    alg: optionalString(jwk.alg),
    kty,
    crv: optionalString(jwk.crv),
    jwk: Object.freeze(Object.fromEntries(members)),
  };
  return (kty === "RSA" ? isStrongRsa(key.jwk) : CURVES.has(key.crv ?? "")) ? key : undefined;
}

/** RFC 7517 §4.2, §4.3: `use` and `key_ops` restrict a key; without them it may do anything. */
function isForVerifying(jwk: Record<string, unknown>): boolean {
  const { use, key_ops: operations } = jwk;
  return (use === undefined || use === "sig") && (operations === undefined || (Array.isArray(operations) && operations.includes("verify")));
}

function isShort(jwk: Record<string, unknown>): boolean {
  return ["kid", "alg", "crv", "n", "e", "x", "y"].every((name) => (optionalString(jwk[name]) ?? "").length <= MAX_MEMBER_LENGTH);
}

/**
 * RFC 7518 §3.3: at least 2048 bits. At most 8192, since longer keys only cost time. With an exponent of 1 every
 * signature would be valid.
 */
function isStrongRsa({ n = "", e = "" }: Readonly<Record<string, string>>): boolean {
  const bits = bitLength(n);
  return bits >= 2048 && bits <= 8192 && BASE64URL.test(e) && bitLength(e) > 1 && bitLength(e) <= 64;
}

function bitLength(base64url: string): number {
  if (!BASE64URL.test(base64url)) return 0;
  const hex = Buffer.from(base64url, "base64url").toString("hex").replace(/^0+/, "");
  return hex === "" ? 0 : hex.length * 4 - Math.clz32(Number.parseInt(hex[0] ?? "0", 16)) + 28;
}

function optionalString(value: unknown): string | undefined {
  return typeof value === "string" && value !== "" ? value : undefined;
}
