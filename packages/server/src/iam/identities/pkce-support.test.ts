import assert from "node:assert/strict";
import { test } from "node:test";
import { createPkceSupport } from "./pkce-support.ts";

const ISSUER = "https://idp.example.com/tenant";

function answering(document: unknown) {
  const asked: string[] = [];
  const client = {
    fetchJson: async (url: string) => {
      asked.push(url);
      if (document instanceof Error) throw document;
      return document;
    },
  };
  return { asked, ...createPkceSupport({ client, waits: { wait: (_server, work) => work() } }) };
}

test("an issuer lacks S256 only if it lists PKCE methods without it", async () => {
  const denied = (methods: unknown) => answering({ issuer: ISSUER, code_challenge_methods_supported: methods }).lacksS256(ISSUER);
  assert.equal(await denied(["plain"]), true);
  assert.equal(await denied([]), true);
  assert.equal(await denied(["plain", "S256"]), false);
  assert.equal(await denied(undefined), false);
  assert.equal(await denied("plain"), false);
});

test("an issuer that does not answer, or answers for another issuer, does not lack S256", async () => {
  const other = { issuer: "https://other.example.com", code_challenge_methods_supported: ["plain"] };
  for (const document of [new Error("no answer"), null, "text", other]) assert.equal(await answering(document).lacksS256(ISSUER), false);
});

test("the discovery document is fetched below the issuer, and a malformed issuer is not contacted", async () => {
  const support = answering({});
  await support.lacksS256(`${ISSUER}/`);
  await support.lacksS256("https://idp.example.com?q=");
  await support.lacksS256("ftp://idp.example.com");
  assert.deepEqual(support.asked, [`${ISSUER}/.well-known/openid-configuration`]);
});
