import assert from "node:assert/strict";
import { createHmac, generateKeyPairSync, type KeyObject, sign as signRaw } from "node:crypto";
import { after, before, test } from "node:test";
import { exportJWK, exportSPKI, importJWK } from "jose";
import { startIssuer, type TestIssuer } from "../../test/oidc-issuer.ts";
import { Code, HoltError } from "../lib/errors.ts";
import { parseJwkSet, type VerificationKey } from "./jwk-set.ts";
import { parseJwt } from "./jwt.ts";
import { ALGORITHMS, verifyThirdPartyToken } from "./verify-token.ts";

const NOW = new Date("2030-01-01T00:00:00Z");
const SECONDS = NOW.getTime() / 1000;

let issuer: TestIssuer;
before(async () => {
  issuer = await startIssuer({ now: () => NOW });
});
after(() => issuer[Symbol.asyncDispose]());

async function verify(text: string, keys?: readonly VerificationKey[]): Promise<unknown> {
  return verifyThirdPartyToken(parseJwt(text), { keys: keys ?? parseJwkSet(await issuer.jwks()), issuer: issuer.issuer, now: NOW });
}

async function assertRefused(text: string, why: string): Promise<void> {
  await assert.rejects(
    async () => verify(text),
    (error) => error instanceof HoltError && error.code === Code.UNAUTHENTICATED,
    why,
  );
}

function part(value: unknown): string {
  return Buffer.from(typeof value === "string" ? value : JSON.stringify(value)).toString("base64url");
}

const CLAIMS = { sub: "alice", aud: "holt" };

test("a token of each accepted algorithm is verified", async () => {
  for (const algorithm of ALGORITHMS) {
    const claims = (await verify(await issuer.sign(CLAIMS, { algorithm }))) as Record<string, unknown>;
    assert.equal(claims.sub, "alice", algorithm);
  }
});

test("forged and confusing tokens are refused", async (t) => {
  const good = await issuer.sign(CLAIMS);
  const [header = "", payload = "", signature = ""] = good.split(".");
  const { kid } = JSON.parse(Buffer.from(header, "base64url").toString()) as { kid: string };
  const [publicJwk] = (await issuer.jwks()).keys;
  const spki = await exportSPKI((await importJWK(publicJwk!, "RS256")) as never);
  const mallory = generateKeyPairSync("rsa", { modulusLength: 2048 });
  const malloryJwk = await exportJWK(mallory.publicKey);
  const seconds = { iat: SECONDS, exp: SECONDS + 3600 };
  const claims = { iss: issuer.issuer, ...seconds, ...CLAIMS };
  const byMallory = (extra: object): string => {
    const input = `${part({ alg: "RS256", kid, ...extra })}.${part(claims)}`;
    return `${input}.${signRaw("sha256", Buffer.from(input), mallory.privateKey).toString("base64url")}`;
  };
  const hmac = (key: string): string => {
    const input = `${part({ alg: "HS256", kid })}.${part(claims)}`;
    return `${input}.${createHmac("sha256", key).update(input).digest("base64url")}`;
  };
  const other = await startIssuer({ now: () => NOW });
  t.after(() => other[Symbol.asyncDispose]());

  const corpus: Record<string, string> = {
    empty: "",
    "two dots only": "..",
    "not base64": "!!!.???.###",
    "alg none without a signature": `${part({ alg: "none" })}.${part(claims)}.`,
    "alg none with a signature": `${part({ alg: "none", kid })}.${part(claims)}.${signature}`,
    "alg None": `${part({ alg: "None", kid })}.${part(claims)}.${signature}`,
    "no alg": `${part({ kid })}.${part(claims)}.${signature}`,
    "alg is no text": `${part({ alg: ["RS256"], kid })}.${part(claims)}.${signature}`,
    "HS256 with the public key as PEM": hmac(spki),
    "HS256 with the public key as JWK": hmac(JSON.stringify(publicJwk)),
    "HS256 with the modulus": hmac(publicJwk?.n ?? ""),
    "another key": byMallory({}),
    "an embedded key": byMallory({ jwk: malloryJwk }),
    "a link to keys": byMallory({ jku: `${other.issuer}/keys` }),
    "a link to certificates": byMallory({ x5u: `${other.issuer}/certs` }),
    "embedded certificates": byMallory({ x5c: [part("certificate")] }),
    "another issuer, with its own key": await other.sign(CLAIMS),
    "another issuer's key, our issuer's name": await other.sign({ ...CLAIMS, iss: issuer.issuer }),
    "an unknown kid": await issuer.sign(CLAIMS, { header: { kid: "nobody" } }),
    "a kid that is no text": await issuer.sign(CLAIMS, { header: { kid: 7 } }),
    "no issuer": await issuer.sign({ ...CLAIMS, iss: undefined }),
    "an issuer that is a list": await issuer.sign({ ...CLAIMS, iss: [issuer.issuer] }),
    "an issuer with a slash more": await issuer.sign({ ...CLAIMS, iss: `${issuer.issuer}/` }),
    "an issuer in capitals": await issuer.sign({ ...CLAIMS, iss: issuer.issuer.toUpperCase() }),
    "an issuer with a line break": await issuer.sign({ ...CLAIMS, iss: `${issuer.issuer}\nx` }),
    "no expiry": await issuer.sign({ ...CLAIMS, exp: undefined }),
    "an expiry of null": await issuer.sign({ ...CLAIMS, exp: null }),
    "an expiry that is text": await issuer.sign({ ...CLAIMS, exp: `${SECONDS + 60}` }),
    "an endless expiry": await issuer.sign(JSON.stringify(claims).replace(/"exp":\d+/, '"exp":1e400')),
    expired: await issuer.sign({ ...CLAIMS, exp: SECONDS - 61 }),
    "not valid yet": await issuer.sign({ ...CLAIMS, nbf: SECONDS + 61 }),
    "issued in the future": await issuer.sign({ ...CLAIMS, iat: SECONDS + 61 }),
    "a duplicate claim": await issuer.sign(`{"sub":"mallory",${JSON.stringify(claims).slice(1)}`),
    "a duplicate claim by escape": await issuer.sign(`{"s\\u0075b":"mallory",${JSON.stringify(claims).slice(1)}`),
    "a nested duplicate": await issuer.sign(`{"x":{"a":1,"a":2},${JSON.stringify(claims).slice(1)}`),
    "a duplicate in the header": `${part(`{"alg":"none",${Buffer.from(header, "base64url").toString().slice(1)}`)}.${payload}.${signature}`,
    crit: await issuer.sign(CLAIMS, { header: { crit: ["exp"], exp: 1 } }),
    "an empty crit": `${part({ alg: "RS256", kid, crit: [] })}.${payload}.${signature}`,
    "another kind of token": await issuer.sign(CLAIMS, { header: { typ: "logout+jwt" } }),
    "a subject that is no text": await issuer.sign({ ...CLAIMS, sub: 7 }),
    "a subject with a line break": await issuer.sign({ ...CLAIMS, sub: "a\nb" }),
    "a subject of half a character": await issuer.sign(`{"sub":"\\ud800",${JSON.stringify({ ...claims, sub: undefined }).slice(1)}`),
    "a payload that is no object": await issuer.sign("[]"),
    "a payload that is no JSON": await issuer.sign("{"),
    "a byte order mark": await issuer.sign(`\ufeff${JSON.stringify(claims)}`),
    huge: await issuer.sign({ ...CLAIMS, filler: "x".repeat(20_000) }),
    "deep nesting": await issuer.sign({ ...CLAIMS, deep: JSON.parse(`${"[".repeat(60)}${"]".repeat(60)}`) }),
    "a truncated signature": good.slice(0, -4),
    "a truncated payload": `${header}.${payload.slice(0, -8)}.${signature}`,
    "no signature": `${header}.${payload}.`,
    "a changed payload": `${header}.${part({ ...claims, sub: "mallory" })}.${signature}`,
    "four parts": `${good}.${signature}`,
    "white space": `${header}.${payload}.${signature.slice(0, 20)} ${signature.slice(20)}`,
    "a line break at the end": `${good}\n`,
    padding: `${header}.${payload}.${signature}==`,
    "stray bits": `${header}.${payload}.${signature.slice(0, -1)}${signature.endsWith("A") ? "B" : String.fromCharCode(signature.charCodeAt(signature.length - 1) + 1)}`,
    "plain base64": `${header}.${payload}.${Buffer.from(signature, "base64url").toString("base64")}`,
    "JSON serialization": JSON.stringify({ payload, protected: header, signature }),
  };
  for (const [why, text] of Object.entries(corpus)) await assertRefused(text, why);
  assert.equal(other.requests, 0);
});

test("a minute of clock skew is tolerated, at both ends", async () => {
  for (const claims of [{ exp: SECONDS - 59 }, { nbf: SECONDS + 59 }, { iat: SECONDS + 59 }])
    await verify(await issuer.sign({ ...CLAIMS, ...claims }));
});

test("types that mean an identity or access token are tolerated, and no type at all", async () => {
  for (const typ of [undefined, "jwt", "at+jwt", "application/at+jwt"]) await verify(await issuer.sign(CLAIMS, { header: { typ } }));
});

test("a key serves only for its own kind of algorithm", async () => {
  const [rsa] = parseJwkSet({ keys: [{ ...(await issuer.jwks()).keys[0], alg: undefined }] });
  await verify(await issuer.sign(CLAIMS), [rsa!]);
  await assert.rejects(verify(await issuer.sign(CLAIMS), [{ ...rsa!, alg: "PS256" }]));
  await assert.rejects(verify(await issuer.sign(CLAIMS, { algorithm: "ES256" }), [rsa!]));
});

test("a token without a key id is tried on the keys that fit, and keys without one fit any", async () => {
  const { keys } = await issuer.jwks();
  await verify(await issuer.sign(CLAIMS, { header: { kid: undefined } }));
  await verify(await issuer.sign(CLAIMS), parseJwkSet({ keys: keys.map((key) => ({ ...key, kid: undefined })) }));
});

test("keys that are weak, private, symmetric or for something else are left out of a set", async () => {
  const weak = generateKeyPairSync("rsa", { modulusLength: 1024 }).publicKey;
  const strong = generateKeyPairSync("rsa", { modulusLength: 2048 });
  const jwk = (key: KeyObject): object => key.export({ format: "jwk" });
  const good = jwk(strong.publicKey);
  const set = parseJwkSet({
    keys: [
      jwk(weak),
      { ...good, use: "enc" },
      { ...good, key_ops: ["encrypt"] },
      { ...good, e: "AQ" },
      { ...good, n: "" },
      { ...good, n: 5 },
      { kty: "oct", k: "c2VjcmV0" },
      { kty: "EC", crv: "secp256k1", x: "AA", y: "AA" },
      { kty: "OKP", crv: "X25519", x: "AA" },
      "text",
      null,
    ],
  });
  assert.deepEqual(set, []);
  for (const nonsense of [undefined, null, [], "keys", { keys: "keys" }, { keys: {} }]) assert.deepEqual(parseJwkSet(nonsense), []);
  const [kept] = parseJwkSet({ keys: [jwk(strong.privateKey)] });
  assert.deepEqual(Object.keys(kept?.jwk ?? {}), ["kty", "n", "e"]);
});

test("Google's two names are one issuer, and nobody else has two", () => {
  const token = (iss: string): string => `${part({ alg: "RS256" })}.${part({ iss })}.${part("signature")}`;
  assert.equal(parseJwt(token("accounts.google.com")).issuer, "https://accounts.google.com");
  assert.equal(parseJwt(token("accounts.google.com.evil.test")).issuer, "accounts.google.com.evil.test");
  assert.equal(parseJwt(token("login.example.test")).issuer, "login.example.test");
});
