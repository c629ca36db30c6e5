import assert from "node:assert/strict";
import { generateKeyPairSync, type KeyObject, sign } from "node:crypto";
import { after, before, test } from "node:test";
import { forgedTokens, part } from "../../../test/harness/forged-tokens.ts";
import { startIssuer, type TestIssuer } from "../../../test/harness/oidc-issuer.ts";
import { Code, HoltError } from "../../lib/errors.ts";
import { parseJwkSet, type VerificationKey } from "./jwk-set.ts";
import { parseJwt } from "./jwt.ts";
import { isQuickToVerify } from "./verify-rsa.ts";
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

const CLAIMS = { sub: "alice", aud: "holt" };

test("a token of each accepted algorithm is verified", async () => {
  for (const algorithm of ALGORITHMS) {
    const claims = (await verify(await issuer.sign(CLAIMS, { algorithm }))) as Record<string, unknown>;
    assert.equal(claims.sub, "alice", algorithm);
  }
});

test("forged and malformed tokens are rejected", async () => {
  await using other = await startIssuer({ now: () => NOW });
  const corpus = {
    ...(await forgedTokens(issuer, other, CLAIMS, NOW)),
    empty: "",
    "a line break at the end": `${await issuer.sign(CLAIMS)}\n`,
  };
  assert.ok(Object.keys(corpus).length > 150);
  for (const [why, text] of Object.entries(corpus)) await assertRefused(text, why);
  assert.equal(other.requests, 0);
});

test("a minute of clock skew is tolerated in both directions", async () => {
  for (const claims of [{ exp: SECONDS - 59 }, { nbf: SECONDS + 59 }, { iat: SECONDS + 59 }])
    await verify(await issuer.sign({ ...CLAIMS, ...claims }));
});

test("a token may have no type or the type of an identity or access token", async () => {
  for (const typ of [undefined, "jwt", "at+jwt", "application/at+jwt"]) await verify(await issuer.sign(CLAIMS, { header: { typ } }));
});

test("RSA signatures are verified alike on this thread and on another one", async () => {
  for (const [publicExponent, isQuick] of [
    [65537, true],
    [3, false],
  ] as const) {
    const [own, other] = [1, 2].map(() => generateKeyPairSync("rsa", { modulusLength: 2048, publicExponent }));
    const keys = parseJwkSet({ keys: [own!.publicKey.export({ format: "jwk" })] });
    for (const [algorithm, digest] of Object.entries({ RS256: "sha256", RS384: "sha384", RS512: "sha512" })) {
      assert.equal(isQuickToVerify({ algorithm }, keys[0]!), isQuick);
      const signed = `${part({ alg: algorithm })}.${part({ ...CLAIMS, iss: issuer.issuer, exp: SECONDS + 60 })}`;
      const tokenBy = (key: KeyObject, text = signed) => `${signed}.${sign(digest, Buffer.from(text), key).toString("base64url")}`;
      await verify(tokenBy(own!.privateKey), keys);
      for (const forged of [tokenBy(other!.privateKey), tokenBy(own!.privateKey, `${signed}x`), `${signed}.AAAA`])
        await assert.rejects(verify(forged, keys), { message: /the signature is not from a key of the issuer/ });
    }
    assert.equal(isQuickToVerify({ algorithm: "PS256" }, keys[0]!), false);
  }
});

test("a key verifies only its own kind of algorithm", async () => {
  const [rsa] = parseJwkSet({ keys: [{ ...(await issuer.jwks()).keys[0], alg: undefined }] });
  await verify(await issuer.sign(CLAIMS), [rsa!]);
  await assert.rejects(verify(await issuer.sign(CLAIMS), [{ ...rsa!, alg: "PS256" }]));
  await assert.rejects(verify(await issuer.sign(CLAIMS, { algorithm: "ES256" }), [rsa!]));
});

test("a token without a key ID is tried on all suitable keys, and keys without an ID suit any token", async () => {
  const { keys } = await issuer.jwks();
  await verify(await issuer.sign(CLAIMS, { header: { kid: undefined } }));
  await verify(await issuer.sign(CLAIMS), parseJwkSet({ keys: keys.map((key) => ({ ...key, kid: undefined })) }));
});

test("weak, private, symmetric, unsuitable and long keys are left out of a key set", async () => {
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
      { ...good, kid: "k".repeat(2049) },
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

test("Google's two issuer names are equal, and no other issuer has two names", () => {
  const token = (iss: string): string => `${part({ alg: "RS256" })}.${part({ iss })}.${part("signature")}`;
  assert.equal(parseJwt(token("accounts.google.com")).issuer, "https://accounts.google.com");
  assert.equal(parseJwt(token("accounts.google.com.evil.test")).issuer, "accounts.google.com.evil.test");
  assert.equal(parseJwt(token("login.example.test")).issuer, "login.example.test");
});
