/**
 * Builds invalid tokens for tests: the attacks of RFC 8725 and more, each derived from a valid token of a test issuer.
 * The keys of a corpus say what is wrong with each token.
 */
import { createHmac, generateKeyPairSync, type KeyObject, sign as signRaw } from "node:crypto";
import { exportJWK, exportSPKI, importJWK } from "jose";
import type { TestIssuer } from "./oidc-issuer.ts";

export type Corpus = Readonly<Record<string, string>>;

export function part(value: unknown): string {
  return Buffer.from(typeof value === "string" ? value : JSON.stringify(value)).toString("base64url");
}

/** Signs with this key, whatever the header says. */
export function signAs(key: KeyObject, header: unknown, claims: unknown): string {
  const input = `${part(header)}.${part(claims)}`;
  return `${input}.${signRaw("sha256", Buffer.from(input), key).toString("base64url")}`;
}

/**
 * @param other another issuer, whose keys must never be fetched
 * @param claims claims of a valid token, besides issuer and times
 */
export async function forgedTokens(
  issuer: TestIssuer,
  other: TestIssuer,
  claims: Readonly<Record<string, unknown>>,
  now: Date,
): Promise<Corpus> {
  return {
    ...(await forgedAlgorithms(issuer, claims, now)),
    ...(await forgedKeys(issuer, other, claims, now)),
    ...(await forgedIssuers(issuer, claims)),
    ...(await wrongTimes(issuer, claims, now)),
    ...(await ambiguous(issuer, claims, now)),
    ...(await mangled(issuer, claims)),
  };
}

type Claims = Readonly<Record<string, unknown>>;

function allClaims(issuer: TestIssuer, claims: Claims, now: Date): Record<string, unknown> {
  const seconds = Math.floor(now.getTime() / 1000);
  return { iss: issuer.issuer, iat: seconds, exp: seconds + 3600, ...claims };
}

function headerOf(token: string): { alg: string; kid: string } {
  return JSON.parse(Buffer.from(token.split(".")[0] ?? "", "base64url").toString());
}

async function forgedAlgorithms(issuer: TestIssuer, claims: Claims, now: Date): Promise<Corpus> {
  const good = await issuer.sign(claims);
  const [, payload = "", signature = ""] = good.split(".");
  const { kid } = headerOf(good);
  const all = part(allClaims(issuer, claims, now));
  const [publicJwk] = (await issuer.jwks()).keys;
  const spki = await exportSPKI((await importJWK(publicJwk!, "RS256")) as never);
  const hmac = (key: string | Buffer, hash = "sha256", id: unknown = kid): string => {
    const input = `${part({ alg: `HS${hash.slice(3)}`, kid: id })}.${all}`;
    return `${input}.${createHmac(hash, key).update(input).digest("base64url")}`;
  };
  const corpus: Record<string, string> = {
    "no alg": `${part({ kid })}.${payload}.${signature}`,
    "alg is no text": `${part({ alg: ["RS256"], kid })}.${payload}.${signature}`,
    "an empty alg": `${part({ alg: "", kid })}.${payload}.${signature}`,
    "an alg in small letters": await issuer
      .sign(claims, { header: {} })
      .then((text) => `${part({ alg: "rs256", kid })}.${text.split(".").slice(1).join(".")}`),
    "HS256 with the public key as JWK": hmac(JSON.stringify(publicJwk)),
    "HS256 with the modulus": hmac(publicJwk?.n ?? ""),
    "HS256 with the modulus as bytes": hmac(Buffer.from(publicJwk?.n ?? "", "base64url")),
    "HS256 with an empty key, as of /dev/null": hmac("", "sha256", "../../../../../../dev/null"),
    "HS256 with the key id": hmac(kid),
    "HS256 with the public key in one line": hmac(spki.trim().replaceAll("\n", "")),
  };
  for (const hash of ["sha256", "sha384", "sha512"]) {
    corpus[`HS${hash.slice(3)} with the public key as PEM`] = hmac(spki, hash);
    corpus[`HS${hash.slice(3)} with the public key as PEM, trimmed`] = hmac(spki.trim(), hash);
  }
  for (const alg of ["none", "None", "NONE", "nOnE", "none ", "\u0000none"]) {
    corpus[`alg ${JSON.stringify(alg)} without a signature`] = `${part({ alg })}.${all}.`;
    corpus[`alg ${JSON.stringify(alg)} with a signature`] = `${part({ alg, kid })}.${all}.${signature}`;
  }
  for (const alg of ["PS256", "RS384", "RS512", "ES256", "EdDSA", "RSA-OAEP", "dir", "A256KW", "RS1"])
    corpus[`an RS256 signature that says ${alg}`] = `${part({ alg, kid })}.${payload}.${signature}`;
  const [, ecPayload = ""] = (await issuer.sign(claims, { algorithm: "ES256" })).split(".");
  const ec = headerOf(await issuer.sign(claims, { algorithm: "ES256" }));
  corpus["an ES256 signature of zeros"] = `${part(ec)}.${ecPayload}.${Buffer.alloc(64).toString("base64url")}`;
  corpus["an ES256 key that is to verify ES384"] =
    `${part({ ...ec, alg: "ES384" })}.${ecPayload}.${Buffer.alloc(96, 1).toString("base64url")}`;
  const p384 = generateKeyPairSync("ec", { namedCurve: "P-384" });
  corpus["a key of another curve under the name of one of ours"] = signAs(p384.privateKey, ec, allClaims(issuer, claims, now));
  const p256 = generateKeyPairSync("ec", { namedCurve: "P-256" });
  corpus["another ES256 key, its signature in DER"] = signAs(p256.privateKey, ec, allClaims(issuer, claims, now));
  return corpus;
}

/** Header members that contain or point to a key: RFC 8725 §3.10. */
async function forgedKeys(issuer: TestIssuer, other: TestIssuer, claims: Claims, now: Date): Promise<Corpus> {
  const { kid } = headerOf(await issuer.sign(claims));
  const mallory = generateKeyPairSync("rsa", { modulusLength: 2048 });
  const jwk = await exportJWK(mallory.publicKey);
  const certificate = Buffer.from("certificate").toString("base64");
  const byMallory = (extra: object): string => signAs(mallory.privateKey, { alg: "RS256", kid, ...extra }, allClaims(issuer, claims, now));
  const corpus: Record<string, string> = {
    "another key": byMallory({}),
    "another key without an id": byMallory({ kid: undefined }),
    "an embedded key": byMallory({ jwk }),
    "an embedded key with its own id": byMallory({ jwk: { ...jwk, kid: "mallory" }, kid: "mallory" }),
    "an embedded private key": byMallory({ jwk: { ...mallory.privateKey.export({ format: "jwk" }), kid } }),
    "a link to keys": byMallory({ jku: `${other.issuer}/keys` }),
    "a link to keys with the issuer as its user": byMallory({
      jku: `${issuer.issuer.replace("://", "://user@")}@${other.issuer.slice(7)}/keys`,
    }),
    "a link to a file": byMallory({ jku: "file:///etc/passwd" }),
    "a link to certificates": byMallory({ x5u: `${other.issuer}/certs` }),
    "embedded certificates": byMallory({ x5c: [certificate] }),
    "a thumbprint": byMallory({ x5t: "AAAA", "x5t#S256": "AAAA" }),
    "a key id that is no text": await issuer.sign(claims, { header: { kid: 7 } }),
    "a key id that is an object": await issuer.sign(claims, { header: { kid: { $ne: "" } } }),
    "an unknown key id": await issuer.sign(claims, { header: { kid: "nobody" } }),
    "a key id of another case": await issuer.sign(claims, { header: { kid: kid.toUpperCase() } }),
    crit: await issuer.sign(claims, { header: { crit: ["exp"], exp: 1 } }),
    "an empty crit": byMallory({ crit: [] }),
    "crit that is no list": byMallory({ crit: "exp" }),
    "an unencoded payload": await unencoded(issuer, claims, now),
    "another issuer, with its own key": await other.sign(claims),
    "another issuer's key, the issuer's name": await other.sign({ ...claims, iss: issuer.issuer }),
    "another kind of token": await issuer.sign(claims, { header: { typ: "logout+jwt" } }),
    "a security event": await issuer.sign(claims, { header: { typ: "secevent+jwt" } }),
    "a type that is no text": await issuer.sign(claims, { header: { typ: ["JWT"] } }),
    "an encrypted token": [part({ alg: "RSA-OAEP", enc: "A256GCM", kid }), "AAAA", "AAAA", "AAAA", "AAAA"].join("."),
    "a nested token": await issuer.sign(JSON.stringify(await issuer.sign(claims)), { header: { cty: "JWT" } }),
  };
  const ids = [
    "../../../../etc/passwd",
    "/dev/null",
    "' or '1'='1",
    "x' union select 'c2VjcmV0'--",
    `${other.issuer}/keys`,
    "$(id)",
    "a\u0000b",
    "__proto__",
    "constructor",
    "x".repeat(8000),
  ];
  for (const id of ids) corpus[`the key id ${JSON.stringify(id.slice(0, 40))}`] = byMallory({ kid: id });
  return corpus;
}

/** RFC 7797: signs the payload as it is, not as base64url. */
async function unencoded(issuer: TestIssuer, claims: Claims, now: Date): Promise<string> {
  const [header = "", , signature = ""] = (await issuer.sign(claims, { header: { b64: true } })).split(".");
  return `${header}.${JSON.stringify(allClaims(issuer, claims, now))}.${signature}`;
}

async function forgedIssuers(issuer: TestIssuer, claims: Claims): Promise<Corpus> {
  const { issuer: iss } = issuer;
  const names: Record<string, unknown> = {
    "no issuer": undefined,
    "an empty issuer": "",
    "an issuer that is a number": 7,
    "an issuer that is a list": [iss],
    "an issuer that is an object": { iss },
    "an issuer with a slash more": `${iss}/`,
    "an issuer in capitals": iss.toUpperCase(),
    "an issuer with its scheme in capitals": iss.replace("http", "HTTP"),
    "an issuer by https": iss.replace("http:", "https:"),
    "an issuer with a user": iss.replace("://", "://user:password@"),
    "an issuer with another host behind it": `${iss}@evil.test`,
    "an issuer with a query": `${iss}?x=1`,
    "an issuer with a fragment": `${iss}#`,
    "an issuer with a path": `${iss}/tenant`,
    "an issuer with a dot segment": `${iss}/x/..`,
    "an issuer with a line break": `${iss}\nx`,
    "an issuer with a tab": `${iss}\t`,
    "an issuer with a space": ` ${iss}`,
    "an issuer with a zero character": `${iss}\u0000`,
    "an issuer with an invisible character": `${iss}\u200b`,
    "an issuer in letters that look alike": iss.replace("1", "\uff11"),
    "an issuer under another name of its host": iss.replace("127.0.0.1", "127.1"),
    "an issuer by its name": iss.replace("127.0.0.1", "localhost"),
    "an issuer of another alphabet": "https://\u0430cme.test",
    "an endless issuer": `${iss}/${"x".repeat(600)}`,
  };
  const entries = Object.entries(names).map(async ([why, name]) => [why, await issuer.sign({ ...claims, iss: name })] as const);
  return Object.fromEntries(await Promise.all(entries));
}

async function wrongTimes(issuer: TestIssuer, claims: Claims, now: Date): Promise<Corpus> {
  const seconds = Math.floor(now.getTime() / 1000);
  const json = JSON.stringify(allClaims(issuer, claims, now));
  const wrong: Record<string, Claims> = {
    "no expiry": { exp: undefined },
    "an expiry of null": { exp: null },
    "an expiry that is text": { exp: `${seconds + 3600}` },
    "an expiry that is true": { exp: true },
    "an expiry that is a list": { exp: [seconds + 3600] },
    "an expiry that is an object": { exp: { valueOf: seconds + 3600 } },
    "an expiry beyond all numbers": { exp: 1e300 },
    "an expiry below zero": { exp: -1 },
    "an expiry of zero": { exp: 0 },
    "an expiry in milliseconds below zero": { exp: -Date.now() },
    "expired by a minute and a second": { exp: seconds - 61 },
    "expired by a minute and the rest of its second": { exp: seconds - 60 - 1e-3 },
    "not valid for a minute and two seconds": { nbf: seconds + 62 },
    "a beginning that is text": { nbf: `${seconds}` },
    "a beginning of null": { nbf: null },
    "a beginning beyond all numbers": { nbf: 1e300 },
    "issued in the future": { iat: seconds + 62 },
    "an issue time that is text": { iat: `${seconds}` },
    "an issue time of null": { iat: null },
  };
  const corpus: Record<string, string> = {
    "an endless expiry": await issuer.sign(json.replace(/"exp":\d+/, '"exp":1e400')),
    "an endlessly early beginning": await issuer.sign(`{"nbf":-1e400,${json.slice(1)}`),
  };
  for (const [why, times] of Object.entries(wrong)) corpus[why] = await issuer.sign({ ...claims, ...times });
  return corpus;
}

/** Tokens that two parsers could read differently. */
async function ambiguous(issuer: TestIssuer, claims: Claims, now: Date): Promise<Corpus> {
  const json = JSON.stringify(allClaims(issuer, claims, now));
  const [header = "", payload = "", signature = ""] = (await issuer.sign(claims)).split(".");
  const headerText = Buffer.from(header, "base64url").toString();
  const signed = (text: string) => issuer.sign(text);
  return {
    "a duplicate claim": await signed(`{"sub":"mallory",${json.slice(1)}`),
    "a duplicate claim at the end": await signed(`${json.slice(0, -1)},"sub":"mallory"}`),
    "a duplicate claim by escape": await signed(`{"s\\u0075b":"mallory",${json.slice(1)}`),
    "a duplicate issuer": await signed(`{"iss":"https://evil.test",${json.slice(1)}`),
    "a duplicate expiry": await signed(`{"exp":1,${json.slice(1)}`),
    "the same claim twice": await signed(`{"iat":${JSON.parse(json).iat},${json.slice(1)}`),
    "a nested duplicate": await signed(`{"x":{"a":1,"a":2},${json.slice(1)}`),
    "a duplicate in a list": await signed(`{"x":[{"a":1,"a":2}],${json.slice(1)}`),
    "a duplicate alg": `${part(`{"alg":"none",${headerText.slice(1)}`)}.${payload}.${signature}`,
    "a duplicate kid": `${part(`{"kid":"x",${headerText.slice(1)}`)}.${payload}.${signature}`,
    "a subject that is no text": await issuer.sign({ ...claims, sub: 7 }),
    "a subject that is a list": await issuer.sign({ ...claims, sub: [claims.sub] }),
    "a subject that is an object": await issuer.sign({ ...claims, sub: { toString: claims.sub } }),
    "a subject of null": await issuer.sign({ ...claims, sub: null }),
    "a subject with a line break": await issuer.sign({ ...claims, sub: `${claims.sub}\n` }),
    "a subject with a zero character": await issuer.sign({ ...claims, sub: `${claims.sub}\u0000` }),
    "a subject of half a character": await signed(
      `{"sub":"\\ud800",${JSON.stringify(allClaims(issuer, { ...claims, sub: undefined }, now)).slice(1)}`,
    ),
    "a payload that is no object": await signed("[]"),
    "a payload of null": await signed("null"),
    "a payload that is no JSON": await signed("{"),
    "an empty payload": await signed(" "),
    "a payload with more behind it": await signed(`${json}{}`),
    "a payload with a comment": await signed(`/**/${json}`),
    "a payload of JSON5": await signed(json.replaceAll('"', "'")),
    "a byte order mark": await signed(`\ufeff${json}`),
    "a payload in Latin-1": `${header}.${Buffer.from(`${json.slice(0, -1)},"n":"\xe9"}`, "latin1").toString("base64url")}.${signature}`,
    "deep nesting": await issuer.sign({ ...claims, deep: JSON.parse(`${"[".repeat(60)}${"]".repeat(60)}`) }),
    "a payload that is huge": await issuer.sign({ ...claims, filler: "x".repeat(20_000) }),
  };
}

async function mangled(issuer: TestIssuer, claims: Claims): Promise<Corpus> {
  const good = await issuer.sign(claims);
  const [header = "", payload = "", signature = ""] = good.split(".");
  const [, , ofAnother = ""] = (await issuer.sign({ ...claims, sub: "another" })).split(".");
  const flipped = Buffer.from(signature, "base64url");
  flipped[10] = (flipped[10] ?? 0) ^ 1;
  const stray = `${signature.slice(0, -1)}${signature.endsWith("A") ? "B" : String.fromCharCode(signature.charCodeAt(signature.length - 1) + 1)}`;
  return {
    "two dots only": "..",
    "one part": header,
    "two parts": `${header}.${payload}`,
    "not base64": "!!!.???.###",
    "an empty header": `.${payload}.${signature}`,
    "a header that is no object": `${part("[]")}.${payload}.${signature}`,
    "no payload": `${header}..${signature}`,
    "no signature": `${header}.${payload}.`,
    "a truncated signature": good.slice(0, -4),
    "a signature with more behind it": `${good}AAAA`,
    "a signature with a changed bit": `${header}.${payload}.${flipped.toString("base64url")}`,
    "a signature of zeros": `${header}.${payload}.${Buffer.alloc(256).toString("base64url")}`,
    "a signature of another token": `${header}.${payload}.${ofAnother}`,
    "a truncated payload": `${header}.${payload.slice(0, -8)}.${signature}`,
    "a changed payload": `${header}.${part({ ...JSON.parse(Buffer.from(payload, "base64url").toString()), admin: true })}.${signature}`,
    "a changed header": `${part({ ...headerOf(good), x: 1 })}.${payload}.${signature}`,
    "four parts": `${good}.${signature}`,
    "white space": `${header}.${payload}.${signature.slice(0, 20)} ${signature.slice(20)}`,
    "white space in the payload": `${header}.${payload.slice(0, 9)} ${payload.slice(9)}.${signature}`,
    "a line break in the header": `${header.slice(0, 9)}\n${header.slice(9)}.${payload}.${signature}`,
    padding: `${header}.${payload}.${signature}==`,
    "padding of the header": `${header}=.${payload}.${signature}`,
    "stray bits": `${header}.${payload}.${stray}`,
    "plain base64": `${header}.${payload}.${Buffer.from(signature, "base64url").toString("base64")}`,
    "characters that are none of base64url": `${header}.${payload}.${signature.slice(0, -2)}+/`,
    "JSON serialization": JSON.stringify({ payload, protected: header, signature }),
    "the token in quotation marks": `"${good}"`,
    "two tokens": `${good},${good}`,
  };
}
