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

test("only an issuer that lists methods without S256 denies PKCE", async () => {
  const denied = (methods: unknown) => answering({ issuer: ISSUER, code_challenge_methods_supported: methods }).isDenied(ISSUER);
  assert.equal(await denied(["plain"]), true);
  assert.equal(await denied([]), true);
  assert.equal(await denied(["plain", "S256"]), false);
  assert.equal(await denied(undefined), false);
  assert.equal(await denied("plain"), false);
});

test("what does not answer, or for somebody else, denies nothing", async () => {
  const other = { issuer: "https://other.example.com", code_challenge_methods_supported: ["plain"] };
  for (const document of [new Error("no answer"), null, "text", other]) assert.equal(await answering(document).isDenied(ISSUER), false);
});

test("the document is asked for below the issuer, and what is no issuer is not asked", async () => {
  const support = answering({});
  await support.isDenied(`${ISSUER}/`);
  await support.isDenied("https://idp.example.com?q=");
  await support.isDenied("ftp://idp.example.com");
  assert.deepEqual(support.asked, [`${ISSUER}/.well-known/openid-configuration`]);
});
