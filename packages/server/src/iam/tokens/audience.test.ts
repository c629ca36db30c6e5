import assert from "node:assert/strict";
import { test } from "node:test";
import { createAudienceList } from "./audience.ts";

test("a URL and its host are the same audience, whichever of them is configured", () => {
  const list = createAudienceList(["https://api.example.test", "http://localhost:8080", "registry.example.test"]);
  for (const audience of [
    "https://api.example.test",
    "https://api.example.test/",
    "api.example.test",
    "http://localhost:8080",
    "localhost:8080",
    "localhost",
    "registry.example.test",
    "https://registry.example.test",
  ]) {
    assert.equal(list.has(audience), true, audience);
  }
  for (const audience of [
    "",
    "http://api.example.test",
    "https://api.example.test.evil.test",
    "https://api.example.test/path",
    "evil.api.example.test",
    "*",
    "API.example.test",
  ]) {
    assert.equal(list.has(audience), false, audience);
  }
});

test("a wildcard audience matches the hosts below a name but not the name itself", () => {
  const list = createAudienceList(["*.example.test"]);
  for (const audience of ["a.example.test", "a.b.example.test", "https://a.example.test"]) assert.equal(list.has(audience), true, audience);
  for (const audience of [
    "example.test",
    ".example.test",
    "evil-example.test",
    "a.example.test.evil.test",
    "https://evil.test/a.example.test",
    "user@a.example.test",
  ])
    assert.equal(list.has(audience), false, audience);
});
