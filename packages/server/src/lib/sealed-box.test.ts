import assert from "node:assert/strict";
import { createDecipheriv, randomBytes } from "node:crypto";
import { test } from "node:test";
import { openBox, sealBox } from "./sealed-box.ts";

const key = randomBytes(32);
const context = Buffer.from("for this");

test("a box opens with its key and context only", () => {
  const box = sealBox(key, "secret", context);
  assert.equal(openBox(key, box, context), "secret");
  assert.throws(() => openBox(randomBytes(32), box, context));
  assert.throws(() => openBox(key, box, Buffer.from("for that")));
  assert.throws(() => openBox(key, box));
  assert.equal(openBox(key, sealBox(key, "")), "");
});

test("a box that was changed or cut does not open", () => {
  const box = sealBox(key, "secret");
  for (let at = 0; at < box.length; at++) {
    const changed = Buffer.from(box);
    changed[at] = (changed[at] ?? 0) ^ 1;
    assert.throws(() => openBox(key, changed), String(at));
    assert.throws(() => openBox(key, box.subarray(0, at)), String(at));
  }
});

test("a box is the nonce of 12 bytes, the ciphertext and the tag of 16 bytes, as clients of headless sign-ins read it", () => {
  const box = sealBox(key, "token");
  const decipher = createDecipheriv("aes-256-gcm", key, box.subarray(0, 12)).setAuthTag(box.subarray(-16));
  assert.equal(decipher.update(box.subarray(12, -16)).toString() + decipher.final().toString(), "token");
});

test("a box that an older server sealed still opens", () => {
  const old = Buffer.from("AAECAwQFBgcICQoLa+SIHHht+SsS1Iruh2WOCfv6oN5A2SlAeF9D0SI=", "base64");
  assert.equal(openBox(Buffer.alloc(32, 7), old, Buffer.from("ctx")), "sealed before");
});
