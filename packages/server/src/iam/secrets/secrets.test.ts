import assert from "node:assert/strict";
import { randomBytes } from "node:crypto";
import { test } from "node:test";
import { createSecrets } from "./secrets.ts";

const secrets = createSecrets(randomBytes(32));

test("a sealed secret opens in its own context and is not readable in its sealed form", () => {
  for (const text of ["", "x", "pässwörd ✓", "s".repeat(10_000)]) {
    const sealed = secrets.seal(text, "a");
    assert.equal(secrets.open(sealed, "a"), text);
    assert.ok(text.length < 5 || !sealed.includes(text));
  }
});

test("sealing the same secret twice gives different results", () => {
  assert.notEqual(secrets.seal("x", "a"), secrets.seal("x", "a"));
});

test("a secret does not open in another context, with another key, or after a change", () => {
  const sealed = secrets.seal("hush", "a");
  assert.throws(() => secrets.open(sealed, "b"));
  assert.throws(() => createSecrets(randomBytes(32)).open(sealed, "a"));
  const bytes = Buffer.from(sealed.slice(3), "base64url");
  for (let i = 0; i < bytes.length; i++) {
    const changed = Buffer.from(bytes);
    changed[i] = (changed[i] ?? 0) ^ 1;
    assert.throws(() => secrets.open(`v1.${changed.toString("base64url")}`, "a"), `byte ${i}`);
  }
  for (const nonsense of ["", "v1.", "v1.AAAA", "hush", `v2.${sealed.slice(3)}`]) assert.throws(() => secrets.open(nonsense, "a"));
});

test("different keys have different fingerprints", () => {
  const key = randomBytes(32);
  assert.equal(createSecrets(key).fingerprint, createSecrets(key).fingerprint);
  assert.notEqual(createSecrets(key).fingerprint, secrets.fingerprint);
});
