import assert from "node:assert/strict";
import { test } from "node:test";
import { digestOf, isDigest, parseDigest } from "./digest.ts";

test("digests of the registered algorithms are parsed", () => {
  const hex = "a".repeat(64);
  assert.deepEqual(parseDigest(`sha256:${hex}`), { algorithm: "sha256", hex });
  assert.deepEqual(parseDigest(`sha512:${hex}${hex}`), { algorithm: "sha512", hex: hex + hex });
});

test("a malformed digest, an unknown algorithm and a path are refused", () => {
  const hex = "a".repeat(64);
  const bad = ["", "sha256", "sha256:", `sha256:${hex}a`, `sha256:${"A".repeat(64)}`, `sha512:${hex}`, `md5:${"a".repeat(32)}`];
  const tricks = [
    `sha256:../${"a".repeat(61)}`,
    `sha256:${hex}\n`,
    `\nsha256:${hex}`,
    `sha256:${hex}/..`,
    `sha256:${"/".repeat(64)}`,
    `SHA256:${hex}`,
  ];
  for (const text of [...bad, ...tricks]) {
    assert.equal(parseDigest(text), undefined, text);
    assert.equal(isDigest(text), false, text);
  }
});

test("content has a digest for each algorithm", () => {
  assert.equal(digestOf(new Uint8Array(0)), "sha256:e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
  assert.ok(isDigest(digestOf(Buffer.from("x"), "sha512")));
});
